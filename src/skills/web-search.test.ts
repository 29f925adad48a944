// Runs the example in examples/skills/web-search like an agent does, against a local server.
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { scanSkills } from "./scan-skills.ts";

const examples = join(import.meta.dir, "../../examples/skills");
const program = join(examples, "web-search/web-search");

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const url = new URL(request.url);
    const query = url.searchParams.get("q") ?? "";
    if (query === "fail") return new Response("out of\norder", { status: 503 });
    if (query === "html") return new Response("<html>hello</html>");
    if (query === "shape") return Response.json({ hits: [] });
    if (query === "none") return Response.json({ results: [] });
    if (query === "huge") return new Response("x".repeat(3_000_000));
    if (query === "odd") return Response.json({ results: [null, { title: "a\u001b[2J\nb", url: 5 }] });
    const results = Array.from({ length: 9 }, (_, n) => ({
      title: `${query} ${n}`,
      url: `https://r.example/${n}`,
      snippet: `token ${url.searchParams.get("token")}, limit ${url.searchParams.get("limit")}`,
    }));
    return Response.json({ results });
  },
});
afterAll(() => server.stop(true));
const endpoint = `http://127.0.0.1:${server.port}/api?token=t`;

async function search(args: string[], url: string | undefined = endpoint): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env["PATH"], ...(url === undefined ? {} : { WEB_SEARCH_URL: url }) };
  const child = Bun.spawn([program, ...args], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

test("the web-search example is a skill without problems", () => {
  const list = scanSkills({
    directory: "/nowhere",
    project: "/nowhere",
    home: "/nowhere",
    configDir: join(examples, ".."),
    trusted: false,
  });
  expect(list.problems).toEqual([]);
  expect(list.skills).toMatchObject([{ name: "web-search", path: join(examples, "web-search/SKILL.md") }]);
});

describe("web-search", () => {
  test("web-search prints three lines for each result, and keeps the endpoint's parameters", async () => {
    const { code, out, err } = await search(["--query", "größe & x", "--max-results", "2"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toBe(
      "1. größe & x 0\n   https://r.example/0\n   token t, limit 2\n2. größe & x 1\n   https://r.example/1\n   token t, limit 2\n",
    );
  });

  test("web-search accepts short flags and an equals sign, and requests five results by default", async () => {
    expect((await search(["-q", "a", "-n", "1"])).out).toContain("1. a 0");
    expect((await search(["--query=a=b"])).out.match(/^\d\. a=b/gm)).toHaveLength(5);
  });

  test("web-search --help prints its usage", async () => {
    const { code, out } = await search(["--help"], "");
    expect([code, out.split("\n")[0]]).toEqual([0, "Usage: web-search --query <text> [--max-results <n>]"]);
  });

  test("web-search removes control characters from the server's text", async () => {
    expect((await search(["-q", "odd"])).out).toBe("1. (no title)\n   \n2. a [2J b\n   \n");
    expect((await search(["-q", "none"])).out).toBe("no results\n");
  });

  test.each([
    [[], endpoint, 2, "there is no query; see web-search --help"],
    [["--query"], endpoint, 2, "--query needs a value"],
    [["--query", "  "], endpoint, 2, "there is no query; see web-search --help"],
    [["--max-results", "0", "-q", "x"], endpoint, 2, '--max-results must be a number from 1 to 50, not "0"'],
    [["-n", "many", "-q", "x"], endpoint, 2, '--max-results must be a number from 1 to 50, not "many"'],
    [["--limit", "3"], endpoint, 2, 'unknown argument "--limit"; see web-search --help'],
    [["-q", "x"], "", 2, "WEB_SEARCH_URL is not set; set it to a search endpoint (see the README beside this program)"],
    [["-q", "x"], "file:///etc/passwd", 2, "WEB_SEARCH_URL is not an http(s) URL"],
    [["-q", "fail"], endpoint, 1, `127.0.0.1:${server.port} answered with HTTP 503: out of order`],
    [["-q", "html"], endpoint, 1, `127.0.0.1:${server.port} did not answer with JSON: <html>hello</html>`],
    [["-q", "shape"], endpoint, 1, 'the answer has no list "results"'],
    [["-q", "huge"], endpoint, 1, "the answer is larger than 2000000 bytes"],
    [["-q", "x"], "http://127.0.0.1:9/", 1, "can't reach 127.0.0.1:9: "],
  ] as [string[], string, number, string][])(
    "web-search with %j at %s exits with %d and prints one line",
    async (args, url, code, message) => {
      const result = await search(args, url);
      expect([result.code, result.out]).toEqual([code, ""]);
      expect(result.err).toStartWith(`web-search: ${message}`);
      expect(result.err.trimEnd().split("\n")).toHaveLength(1);
    },
  );
});
