import { describe, expect, test } from "bun:test";
import { createBodyReader, forwardedHead, parseRequest } from "./http-request.ts";

const head = (...lines: string[]) => lines.join("\r\n");

describe("the head of a request", () => {
  test("its method, target, host and length are read", () => {
    const request = parseRequest(head("POST http://x.org/a?b HTTP/1.1", "Host: X.org", "Content-Length: 12", "Accept:\t*/*"));
    expect(request).toMatchObject({ method: "POST", target: "http://x.org/a?b", host: "x.org", body: { kind: "length", bytes: 12 } });
  });

  test("a head that two programs could read in different ways is refused", () => {
    const start = "POST http://x.org/ HTTP/1.1";
    const heads = [
      head(start, "Content-Length: 5", "Transfer-Encoding: chunked"),
      head(start, "Content-Length: 5", "Content-Length: 6"),
      head(start, "Content-Length: 5, 6"),
      head(start, "Content-Length: +5"),
      head(start, "Content-Length: 0x5"),
      head(start, "Transfer-Encoding: gzip, chunked"),
      head(start, "Transfer-Encoding: xchunked"),
      head(start, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
      head(start, "Transfer-Encoding : chunked"),
      head(start, "Host: x.org", "Host: y.org"),
      head(start, "A: b", " folded: c"),
      head(start, "A: b\nHost: y.org"),
      head(start, "A: b\rHost: y.org"),
      head(start, "A: b\0"),
      head("POST http://x.org/ HTTP/1.0", "Transfer-Encoding: chunked"),
      head("POST http://x.org/ HTTP/2.0"),
      head("POST  http://x.org/ HTTP/1.1"),
      head("POST http://x.org/ a HTTP/1.1"),
      head("post http://x.org/ HTTP/1.1"),
      head("", start),
    ];
    expect(heads.filter((text) => parseRequest(text) !== null)).toEqual([]);
  });

  test("headers about the connection and the proxy are not forwarded, and the length always is", () => {
    const request = parseRequest(
      head(
        "POST http://x.org/a HTTP/1.1",
        "Host: x.org",
        "Proxy-Authorization: Basic abc",
        "Connection: keep-alive, X-Private, Content-Length",
        "Upgrade: websocket",
        "X-Private: 1",
        "Content-Length: 3",
        "Accept: */*",
      ),
    )!;
    const expected = head("POST /a HTTP/1.1", "Host: x.org", "Content-Length: 3", "Accept: */*", "Connection: close", "", "");
    expect(forwardedHead(request, "/a", "x.org")).toBe(expected);
  });
});

describe("the body of a request", () => {
  const taken = (kind: "chunked" | number, ...parts: string[]) => {
    const body = createBodyReader(kind === "chunked" ? { kind } : { kind: "length", bytes: kind });
    return [...parts.map((part) => body.take(Buffer.from(part))), body.isComplete()];
  };

  test("bytes after the announced length are not part of it", () => {
    expect(taken(5, "ab", "cdeGET / HTTP/1.1")).toEqual([2, 3, true]);
    expect(taken(0, "GET")).toEqual([0, true]);
    expect(taken(5, "ab")).toEqual([2, false]);
  });

  test("chunks are read in any pieces, and bytes after the last one are not part of it", () => {
    const text = "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
    expect(taken("chunked", `${text}GET`)).toEqual([text.length, true]);
    expect(taken("chunked", ...text.split(""))).toEqual([...Array.from(text, () => 1), true]);
    expect(taken("chunked", text.slice(0, -1))).toEqual([text.length - 1, false]);
  });

  test("extensions, trailers, signs, wrong line ends and long sizes are refused", () => {
    const bodies = [
      "3;a=b\r\nabc\r\n",
      "+3\r\n",
      "3\nabc\n",
      "3\r\nabcd\r\n",
      "0\r\nA: b\r\n\r\n",
      "fffffffff\r\n",
      " 3\r\n",
      "0x3\r\n",
      "\r\n",
    ];
    expect(bodies.filter((body) => taken("chunked", body)[0] !== null)).toEqual([]);
  });
});
