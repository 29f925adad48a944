// Exports a tree of 30,000 nodes as a page and uses it in a real Chromium: outputs, diffs, map and search.
import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "../../support/browser.ts";
import { temporaryHome } from "../../support/temporary-home.ts";

const evil = "</script><img src=x onerror=document.title='broken'><script>document.title='broken'</script>";

/** A session file of pi with four nodes per round: message, call, result and answer. Each tenth call is an edit. */
function piSession(rounds: number, cwd: string): string {
  const lines: object[] = [{ type: "session", version: 3, id: "6d7f2ab8-5c41-4a9e-9d6e-000000000001", timestamp: at(0), cwd }];
  let parentId: string | null = null;
  const add = (message: object) => {
    const id = (lines.length + 0x10000000).toString(16);
    lines.push({ type: "message", id, parentId, timestamp: at(lines.length), message });
    parentId = id;
  };
  const assistant = (...content: object[]) =>
    add({ role: "assistant", content, provider: "anthropic", model: "claude-sonnet-4-5", stopReason: "stop", timestamp: 1 });
  for (let round = 0; round < rounds; round += 1) {
    const isEdit = round % 10 === 3;
    const call = isEdit
      ? {
          name: "edit",
          arguments: { path: `src/part-${round}.ts`, edits: [{ oldText: "const a = 1;", newText: `const a = "${round}"; // ${evil}` }] },
        }
      : { name: "bash", arguments: { command: `cat part-${round}.txt` } };
    add({ role: "user", content: [{ type: "text", text: `What is in part ${round}? ${round === 5 ? evil : ""}` }], timestamp: 1 });
    assistant({ type: "text", text: "Let me look." }, { type: "toolCall", id: `c${round}`, ...call });
    const output = `needle-${round}\n${"a line of output that nobody reads\n".repeat(30)}${evil}`;
    add({
      role: "toolResult",
      toolCallId: `c${round}`,
      toolName: call.name,
      content: [{ type: "text", text: output }],
      isError: false,
      timestamp: 1,
    });
    assistant({ type: "text", text: `Part **${round}**:\n\n\`\`\`ts\nconst part: number = ${round}; // ${evil}\n\`\`\`` });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function at(line: number): string {
  return new Date(Date.parse("2026-11-01T00:00:00Z") + line * 1000).toISOString();
}

describe("an exported page in Chromium", () => {
  test("30,000 nodes open, outputs load when they are opened, and the search finds text in folded outputs", async () => {
    using skein = temporaryHome();
    const session = join(skein.root, "session.jsonl");
    const page = join(skein.root, "page.html");
    await Bun.write(session, piSession(7_500, skein.project));
    expect(await skein.run(["import", session])).toMatchObject({ code: 0 });
    expect(await skein.run(["export", "--format", "html", "-o", page])).toMatchObject({ code: 0 });
    expect(statSync(page).size).toBeLessThan(40_000_000);
    await using browser = await openBrowser();
    await browser.open(`file://${page}`);
    expect(await browser.evaluate("document.querySelectorAll('article').length")).toBeGreaterThan(22_000);
    expect(await browser.evaluate("document.querySelectorAll('details:not([open]) pre').length")).toBe(0);

    expect(await browser.evaluate("document.querySelector('.diff .add').textContent")).toContain("const a = ");
    expect(await browser.evaluate("document.querySelector('.diff .del').textContent")).toContain("const a = 1;");
    expect(await browser.evaluate("getComputedStyle(document.querySelector('.diff .add')).backgroundColor")).toBe("rgb(223, 243, 228)");
    expect(await browser.evaluate("document.querySelectorAll('.text pre code span').length")).toBeGreaterThan(7_500);
    expect(await browser.evaluate("document.querySelectorAll('.map li').length")).toBeGreaterThan(0);

    await browser.evaluate("document.querySelector('article.tool summary').click()");
    await browser.until("document.querySelector('article.tool details pre')?.textContent.startsWith('needle-0')");

    await browser.evaluate("document.getElementById('find').focus()");
    await browser.type("needle-7411");
    await browser.until("document.getElementById('found').textContent === '1 of 1'");
    expect(await browser.evaluate("[...document.querySelectorAll('article')].filter((each) => each.checkVisibility()).length")).toBe(1);
    expect(await browser.evaluate("document.querySelector('article.current pre').textContent")).toContain("needle-7411");
    expect(await browser.evaluate("CSS.highlights.get('found').size")).toBe(1);
    await browser.press("Escape");
    await browser.until("!document.body.classList.contains('searching')");

    expect(await browser.evaluate("document.title")).not.toBe("broken");
    expect(browser.requests.filter((url) => !url.startsWith("file:"))).toEqual([]);
    expect(browser.problems).toEqual([]);
  });

  test("no script but the page's own can run", async () => {
    using skein = temporaryHome();
    const session = join(skein.root, "session.jsonl");
    const page = join(skein.root, "page.html");
    await Bun.write(session, piSession(4, skein.project));
    await skein.run(["import", session]);
    await skein.run(["export", "--format", "html", "-o", page]);
    await Bun.write(
      page,
      (await Bun.file(page).text()).replace(
        "<main>",
        "<main><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">",
      ),
    );
    await using browser = await openBrowser();
    await browser.open(`file://${page}`);
    expect(await browser.evaluate("document.title")).not.toBe("broken");
    expect(browser.problems.filter((problem) => problem.includes("Content Security Policy"))).not.toEqual([]);
  });
});
