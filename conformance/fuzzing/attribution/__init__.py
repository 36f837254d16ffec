"""Causes of findings: results of compile variants and rewritten programs, and a third
implementation's vote.
"""
