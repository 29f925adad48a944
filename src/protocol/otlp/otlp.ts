// The JSON form of OTLP, the protocol of OpenTelemetry: the few fields that a trace of skein needs.
// Times are nanoseconds as text, because they do not fit into a JavaScript number.

export type OtlpValue = { stringValue: string } | { intValue: string } | { doubleValue: number } | { boolValue: boolean };
export type OtlpAttribute = { key: string; value: OtlpValue };

export type OtlpSpan = {
  /** 32 hex digits */
  traceId: string;
  /** 16 hex digits */
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  status: { code: number; message?: string };
};

export const spanKind = { internal: 1, client: 3 } as const;
export const statusCode = { unset: 0, error: 2 } as const;

export type Resource = { serviceName: string; version: string; attributes?: Readonly<Record<string, string>> };

export function attributesOf(values: Readonly<Record<string, string | number | boolean | null | undefined>>): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]): OtlpAttribute[] => {
    if (value === null || value === undefined) return [];
    if (typeof value === "string") return [{ key, value: { stringValue: value } }];
    if (typeof value === "boolean") return [{ key, value: { boolValue: value } }];
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
  });
}

/** The body of one request to a collector. */
export function traceRequest(spans: OtlpSpan[], { serviceName, version, attributes }: Resource): object {
  const resource = { attributes: attributesOf({ "service.name": serviceName, "service.version": version, ...attributes }) };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "skein", version }, spans }] }] };
}

/** `00-<trace id>-<span id>-<flags>` of the W3C. Null if it is malformed or all zeros. */
export function parseTraceparent(text: string | undefined): { traceId: string; spanId: string } | null {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(text?.trim() ?? "");
  const [, traceId = "", spanId = ""] = match ?? [];
  return match === null || /^0+$/.test(traceId) || /^0+$/.test(spanId) ? null : { traceId, spanId };
}
