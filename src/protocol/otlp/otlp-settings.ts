// Reads the variables of OpenTelemetry that decide whether, where and how traces are sent. Pure.
import { Fault } from "../api/error.ts";

export type OtlpSettings = {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
  serviceName: string;
  attributes: Record<string, string>;
  withContents: boolean;
};

type Env = Readonly<Record<string, string | undefined>>;

/** True if the environment names a collector. Runs before every first request, so it does no more than that. */
export function isTraced(env: Env): boolean {
  return Boolean(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"]);
}

/** Null if traces are switched off. Throws if the endpoint is no URL. */
export function otlpSettings(env: Env): OtlpSettings | null {
  if (!isTraced(env) || env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none") return null;
  return {
    url: tracesUrl(env),
    headers: pairs(env["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] ?? env["OTEL_EXPORTER_OTLP_HEADERS"]),
    timeoutMs: Number(env["OTEL_EXPORTER_OTLP_TIMEOUT"]) || 10_000,
    ...resourceSettings(env),
  };
}

/** The name and attributes of the program in a trace, also in an exported file. */
export function resourceSettings(env: Env): Pick<OtlpSettings, "serviceName" | "attributes" | "withContents"> {
  return {
    serviceName: env["OTEL_SERVICE_NAME"] || "skein",
    attributes: pairs(env["OTEL_RESOURCE_ATTRIBUTES"]),
    withContents: env["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"]?.toLowerCase() === "true",
  };
}

function tracesUrl(env: Env): string {
  const own = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  const name = own ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" : "OTEL_EXPORTER_OTLP_ENDPOINT";
  const value = env[name]!;
  const url = URL.parse(own ? value : `${value.replace(/\/+$/, "")}/v1/traces`);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new Fault("config", `${name} is not an http or https URL`, { hint: `for example: ${name}=http://127.0.0.1:4318` });
}

/** `a=1,b=2`, with values in percent encoding. */
function pairs(text: string | undefined): Record<string, string> {
  const entries = (text ?? "").split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at <= 0 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
