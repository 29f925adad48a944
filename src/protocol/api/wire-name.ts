// The wires: the vendors' APIs that skein speaks.

export const wireNames = ["anthropic", "openai-responses", "openai-chat", "gemini"] as const;
export type WireName = (typeof wireNames)[number];
