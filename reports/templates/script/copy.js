addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const line = button.parentElement.querySelector("code");
  try { await navigator.clipboard.writeText(line.textContent); } catch {
    getSelection().selectAllChildren(line);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});
