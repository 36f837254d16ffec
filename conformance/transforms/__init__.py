"""Programs made from programs: inlined, outlined, extracted."""
