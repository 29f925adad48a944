// The span of a caller, as messages of MCP and ACP name it. Loaded with those servers, so it needs none of the code of traces.

/** The option of a turn with the `traceparent` in the `_meta` of a message. Empty if there is none of a possible length. */
export function traceOf(meta: Readonly<Record<string, unknown>> | null | undefined): { traceparent?: string } {
  const traceparent = meta?.["traceparent"];
  return typeof traceparent === "string" && traceparent.length <= 100 ? { traceparent } : {};
}
