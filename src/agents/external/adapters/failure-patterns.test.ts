import { expect, test } from "bun:test";
import { matchFailure, plainMessage } from "./failure-patterns.ts";

test.each([
  ["401 Unauthorized", "auth"],
  ['{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}', "auth"],
  ["API key not valid. Please pass a valid API key.", "auth"],
  ["unexpected status 429 from the vendor", "rate-limited"],
  ["Your credit balance is too low to access the API", "rate-limited"],
  ["503 Service Unavailable", "overloaded"],
  ["upstream said HTTP 502", "overloaded"],
  ["connect ECONNREFUSED 127.0.0.1:1", "network"],
  ["dial tcp: connection refused", "network"],
  ["input is too long for requested model", "too-long"],
  ["models/gemini-99 is not found for API version v1beta", "broken"],
  ["finish reason PROHIBITED_CONTENT", "refused"],
] as const)("the message '%s' is a failure of the kind %s", (message, kind) => {
  expect(matchFailure(message)).toBe(kind);
});

test("a number in a sentence is not an HTTP status", () => {
  expect(matchFailure("read 500 lines of 429 files")).toBeNull();
  expect(matchFailure("")).toBeNull();
});

test("a failure pattern of the CLI wins over the common patterns", () => {
  expect(matchFailure("session not found (404)", [[/session not found/, "killed"]])).toBe("killed");
});

test("plainMessage returns the message field of a JSON error body, prefixed with its HTTP status", () => {
  expect(plainMessage('429 {"type":"error","error":{"type":"rate_limit_error","message":"Too many"}}')).toBe("429: Too many");
  expect(plainMessage('{"error":{"message":"{\\"error\\":{\\"message\\":\\"deep\\"}}"}}')).toBe("deep");
  expect(plainMessage("plain { words ")).toBe("plain { words");
  expect(plainMessage('400 {"odd":true}')).toBe('400 {"odd":true}');
});
