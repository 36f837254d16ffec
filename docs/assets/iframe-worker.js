// A page opened as a file may start no Worker. Run a worker's script in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      // Messages arrive later, never during the call that sends them: as those of a Worker.
      inner.postMessage = (data) => setTimeout(() => this.report(structuredClone(data)));
      this.ready = this.load(url).then(() => inner);
    }
    load(url) {
      const inner = this.frame.contentDocument;
      return new Promise((loaded) => {
        const script = inner.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = loaded;
        inner.body.append(script);
      });
    }
    report(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
    postMessage(data) {
      const sent = structuredClone(data);
      this.ready.then((inner) => {
        const event = new inner.MessageEvent("message", { data: sent });
        setTimeout(() => inner.dispatchEvent(event));
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}
