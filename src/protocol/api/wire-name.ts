// The wires: the vendors' APIs that skein supports.

export const wireNames = ["anthropic", "openai-responses", "openai-chat", "gemini"] as const;
export type WireName = (typeof wireNames)[number];
