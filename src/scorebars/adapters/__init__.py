"""How scorebars meets other libraries. Each adapter uses public names only, and its library when it is asked for."""
