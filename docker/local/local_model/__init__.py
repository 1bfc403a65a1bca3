"""A small chat model on this machine, for development and tests: SmolLM2-135M-Instruct, served with OpenAI's interface."""
