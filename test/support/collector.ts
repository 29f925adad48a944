// A collector of OpenTelemetry on 127.0.0.1 that keeps the spans it gets.
import type { OtlpSpan } from "../../src/protocol/otlp/otlp.ts";

export type Collector = {
  url: string;
  /** In the order of their arrival. */
  spans: OtlpSpan[];
  headers: Headers[];
  /** Resolves when spans of that many turns have arrived. */
  turns: (count: number) => Promise<OtlpSpan[]>;
  stop: () => Promise<void>;
};

const waitMs = 60_000;

/** `status` is the answer to every request; a slow collector never answers. */
export function startCollector({ status = 200, isSlow = false } = {}): Collector {
  const spans: OtlpSpan[] = [];
  const headers: Headers[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = (await request.json()) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] };
      headers.push(request.headers);
      spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      return isSlow ? new Promise<Response>(() => {}) : new Response("{}", { status });
    },
  });
  const agents = () => spans.filter(({ name }) => name.startsWith("invoke_agent"));
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    headers,
    turns: async (count) => {
      for (const end = Date.now() + waitMs; agents().length < count && Date.now() < end;) await Bun.sleep(20);
      return agents();
    },
    stop: () => server.stop(true),
  };
}

export function attribute(span: OtlpSpan | undefined, key: string): string | number | boolean | undefined {
  const value = span?.attributes.find((each) => each.key === key)?.value;
  if (value === undefined) return undefined;
  return "intValue" in value ? Number(value.intValue) : Object.values(value)[0];
}
