// skein replay with the real program: the stored session at its pace, as JSON lines and as an SVG, without its secrets.
import { afterAll, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

const secret = "sk-ant-abcdefghijklmnop1234567890";
const hostile = String.raw`printf '</text><script>alert(1)</script>\033]0;title\007 %s\n' ${secret}`;

test(
  "replay prints a session again as text, JSON lines and an SVG, with hostile output as text and secrets removed",
  async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript({ steps: [{ calls: [{ input: { command: hostile } }] }], final: "The answer is <b>42</b> & more." });
    expect((await skein.run(["run", "show it", "--session", "demo"])).code).toBe(0);

    const text = await skein.run(["replay", "demo", "--speed", "1000000"]);
    expect([text.code, text.err]).toEqual([0, ""]);
    for (const part of ["> show it", "<script>alert(1)</script>", "The answer is <b>42</b> & more.", "[redacted]"])
      expect(text.out).toContain(part);
    const json = await skein.run(["replay", "demo", "--speed", "1000000", "--json"]);
    const types = json.out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect([types[0], types.at(-1)]).toEqual(["turn.started", "turn.ended"]);

    const file = join(skein.project, "demo.svg");
    expect((await skein.run(["replay", "demo", "--svg", "demo.svg"])).code).toBe(0);
    const svg = readFileSync(file, "utf8");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(svg).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(svg).toMatch(/class="row" style="animation-delay:[\d.]+s"/);
    expect(svg).not.toMatch(/<script|<image|<foreignObject|href|url\((?!#screen)|@import/);
    const parse = "import sys, xml.dom.minidom as m; print(len(m.parse(sys.argv[1]).getElementsByTagName('text')) > 3)";
    expect(Bun.spawnSync(["python3", "-c", parse, file]).stdout.toString().trim()).toBe("True");
    for (const output of [text.out, json.out, svg]) expect(output).not.toContain("abcdefghijklmnop");
    // oxlint-disable-next-line no-control-regex
    expect(text.out + svg).not.toMatch(/\x1b|\x07/);

    const refusal = async (...args: string[]) => {
      const { code, err } = await skein.run(["replay", ...args]);
      return [code, err.split("\n")[0]!.replace(/^skein: /, "")];
    };
    expect(await refusal("demo", "--speed", "0")).toEqual([2, '--speed takes a number above 0, such as 10 or 0.5, not "0"']);
    expect(await refusal("demo", "--svg", "x.svg", "--json")).toEqual([2, "--svg and --json can't be combined"]);
    expect((await refusal("demo", "--svg", "/nowhere/x.svg"))[1]).toContain("can't write /nowhere/x.svg");
    await skein.run(["new", "empty"]);
    expect(await refusal("empty")).toEqual([2, "nothing has happened in this session yet"]);
  },
  { timeout: 120_000 },
);
