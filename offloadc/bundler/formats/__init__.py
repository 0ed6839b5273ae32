"""One file a format. Each exports FORMAT."""
