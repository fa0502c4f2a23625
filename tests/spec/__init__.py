"""The texts, sentence by sentence: one file per chapter, a test per sentence."""
