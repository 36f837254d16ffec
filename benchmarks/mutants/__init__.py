"""The reference with one small change in its source plays the backend: is it found out?"""
