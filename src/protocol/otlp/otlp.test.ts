import { describe, expect, test } from "bun:test";
import { otlpSettings } from "./otlp-settings.ts";
import { parseTraceparent } from "./otlp.ts";

describe("the variables of OpenTelemetry", () => {
  test("without an endpoint, or switched off, there are no settings", () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
    expect(otlpSettings({})).toBeNull();
    expect(otlpSettings({ ...endpoint, OTEL_SDK_DISABLED: "true" })).toBeNull();
    expect(otlpSettings({ ...endpoint, OTEL_TRACES_EXPORTER: "none" })).toBeNull();
  });

  test("the path is added to the general endpoint, and not to that of traces", () => {
    expect(otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318/" })?.url).toBe("http://127.0.0.1:4318/v1/traces");
    expect(otlpSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:4318/own" })?.url).toBe("http://127.0.0.1:4318/own");
  });

  test("headers and attributes are decoded, and malformed pairs are left out", () => {
    const settings = otlpSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x,broken,=y",
      OTEL_RESOURCE_ATTRIBUTES: "team=web, odd=%zz",
      OTEL_SERVICE_NAME: "ci",
    });
    expect(settings).toMatchObject({ headers: { authorization: "Bearer x" }, attributes: { team: "web", odd: "%zz" }, serviceName: "ci" });
  });

  test("an endpoint that is no URL is named with its variable", () => {
    for (const value of ["collector", "ftp://host", "grpc://host:4317"])
      expect(() => otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: value })).toThrow("OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL");
  });

  test("a traceparent of another form counts as none", () => {
    const [trace, span] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
    expect(parseTraceparent(`00-${trace}-${span}-01`)).toEqual({ traceId: trace, spanId: span });
    for (const text of [undefined, "", `01-${trace}-${span}-01`, `00-${"0".repeat(32)}-${span}-01`, `00-${trace}-x-01`])
      expect(parseTraceparent(text)).toBeNull();
  });
});
