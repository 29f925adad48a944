// The page of `skein web` in a real Chromium: whole turns, questions, steering, stopping, lost connections, hostile texts.
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openPage, startSession, waitForEnd } from "./open-page.ts";
import { seriousProblems } from "./serious-problems.ts";

const evil = `<img src=x onerror="document.title=7"><script>document.title=7</script>`;

test("a whole turn with tools, a question and hostile texts is shown as text, with the keyboard alone", async () => {
  await using opened = await openPage({
    steps: [
      {
        text: `# Plan ${evil}\n\n[click](javascript:document.title=7) [data](data:text/html,x)`,
        calls: [{ input: { command: `echo '${evil}'` } }],
      },
      {
        text: "A question.",
        calls: [{ name: "ask_user", input: { question: `Which one? ${evil}`, options: ["SQLite", `Postgres ${evil}`] } }],
      },
      { text: "```ts\nconst a: number = 1;\n```" },
    ],
    final: "All done.",
  });
  const { page, context, problems, foreign } = opened;
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.keyboard.press("c");
  expect(await seriousProblems(page)).toEqual([]);
  await startSession(page, `Build it ${evil}`);
  await page.getByRole("button", { name: "SQLite" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);

  const inbox = await context.newPage();
  await inbox.goto(page.url().split("#")[0]!);
  await inbox.getByRole("article", { name: "question of an agent" }).waitFor();
  expect(await inbox.locator(".card.running").count()).toBe(1);
  expect(await seriousProblems(inbox)).toEqual([]);
  await inbox.getByLabel("your answer").focus();
  await inbox.keyboard.type("MySQL, please");
  await inbox.keyboard.press("Enter");

  await waitForEnd(page);
  expect(await page.locator(".block.tool").count()).toBe(2);
  await page.locator(".block.tool summary").first().focus();
  await page.keyboard.press("Enter");
  expect(await page.locator(".block.tool .output").first().textContent()).toContain(evil);
  expect(await page.locator(".block.tool summary").nth(1).textContent()).toContain("ask_user");
  expect(await page.locator(".code .c5").count()).toBeGreaterThan(0);
  expect(await page.locator("a[href^='javascript'], a[href^='data']").count()).toBe(0);
  expect(await page.locator("main img").count()).toBe(0);
  expect(await seriousProblems(page)).toEqual([]);
  for (const each of [page, inbox]) expect(await each.title()).not.toBe("7");

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.locator("input.search:focus").waitFor();
  await page.keyboard.type("Plan");
  await page.locator(".hit").first().waitFor();
  expect(await seriousProblems(page)).toEqual([]);
  expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
});

test("a running turn is steered, paused, resumed and stopped; a queued turn follows", async () => {
  await using opened = await openPage({
    steps: [{ text: "First.", calls: [{ input: { command: "echo begun; sleep 86395" } }] }],
    final: "All done.",
  });
  const { page, models } = opened;
  await startSession(page, "wait for me");
  await page.locator(".output.tail", { hasText: "begun" }).waitFor();
  const field = page.getByRole("textbox", { name: "message" });
  await field.fill("look at the tests first");
  await page.getByRole("button", { name: "Steer" }).click();
  await page.locator(".waiting", { hasText: "look at the tests first" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".working", { hasText: "paused" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  models.setScript({ steps: [], final: "The second turn." });
  await field.fill("and then this");
  await page.getByRole("button", { name: "Queue" }).click();
  await page.locator(".waiting", { hasText: "and then this" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator(".turn-end", { hasText: "cancelled" }).waitFor();
  await page.getByText("The second turn.").waitFor({ timeout: 60_000 });
  expect(await page.locator(".block.user", { hasText: "and then this" }).count()).toBe(1);
});

test("after the hub was killed in mid-answer, and after the line was cut, the page shows what an uncut reader shows", async () => {
  const words = Array.from({ length: 400 }, (_, index) => `word${index}`).join(" ");
  await using opened = await openPage({ steps: [], final: words }, { chunkDelayMs: 10 });
  const { page, context, openWeb, models } = opened;
  await startSession(page, "count");
  await page.locator(".block.answer.live", { hasText: "word3" }).waitFor();
  // The line is cut while the answer streams, and comes back while it still streams.
  await context.setOffline(true);
  await page.evaluate("window.dispatchEvent(new Event('online'))");
  await page.locator(".banner").waitFor({ timeout: 30_000 });
  await context.setOffline(false);
  await page.evaluate("window.dispatchEvent(new Event('online'))");
  await page.locator(".line.online").waitFor({ timeout: 30_000 });
  await waitForEnd(page);

  const uncut = await context.newPage();
  await uncut.goto(page.url());
  await waitForEnd(uncut);
  const blocks = (each: Page) => each.locator(".row-box").allTextContents();
  expect(await blocks(page)).toEqual(await blocks(uncut));

  await page.getByRole("textbox", { name: "message" }).fill("again");
  await page.keyboard.press("Enter");
  await page.locator(".block.answer.live", { hasText: "word3" }).waitFor();
  const { pid } = await openWeb();
  process.kill(pid, "SIGKILL");
  await page.locator(".line.offline").waitFor();
  await page.getByRole("textbox", { name: "message" }).fill("an unsent text");
  models.setScript({ steps: [], final: "Continued." });
  await openWeb();
  await page.locator(".line.online").waitFor({ timeout: 30_000 });
  await page.getByText("Continued.").first().waitFor({ timeout: 60_000 });
  await waitForEnd(page, 2);
  expect(await page.getByRole("textbox", { name: "message" }).inputValue()).toBe("an unsent text");
  await uncut.reload();
  await uncut.getByText("Continued.").first().waitFor();
  expect(await blocks(page)).toEqual(await blocks(uncut));
});

test("names, tools, files and images of an imported session can't bring scripts, and no other page can frame the page", async () => {
  await using opened = await openPage({ steps: [], final: "ok" });
  const { page, context, skein, problems, foreign } = opened;
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const svg = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=7"><script>document.title=7</script></svg>`,
  ).toString("base64");
  const messages = [
    {
      role: "user",
      content: [
        { type: "text", text: evil },
        { type: "image", data: svg, mimeType: "image/svg+xml" },
        { type: "image", data: pixel, mimeType: "image/png" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "text", text: `![x](data:image/svg+xml;base64,${svg}) <${evil}>` },
        { type: "toolCall", id: "c1", name: `bash${evil}`, arguments: { path: `/${evil}` } },
      ],
      provider: "anthropic",
      model: evil,
      stopReason: "stop",
    },
    { role: "toolResult", toolCallId: "c1", toolName: `bash${evil}`, content: [{ type: "text", text: evil }], isError: true },
  ];
  const timestamp = "2026-11-01T00:00:00.000Z";
  const lines: object[] = [{ type: "session", version: 3, id: "6d7f2ab8-5c41-4a9e-9d6e-000000000001", timestamp, cwd: skein.project }];
  for (const [index, message] of messages.entries())
    lines.push({
      type: "message",
      id: `1000000${index}`,
      parentId: index === 0 ? null : `1000000${index - 1}`,
      timestamp,
      message: { ...message, timestamp: 1 },
    });
  const file = `${skein.root}/session.jsonl`;
  await Bun.write(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(await skein.run(["import", file, "--name", evil])).toMatchObject({ code: 0 });

  const row = page.locator(".session-row a").first();
  await row.waitFor();
  expect(await row.textContent()).toContain("<img src=x");
  await row.click();
  await page.locator(".block.tool.bad summary").click();
  expect(await page.locator(".block.tool .output").textContent()).toContain(evil);
  expect(await page.getByText("image of type image/svg+xml, not shown").count()).toBe(1);
  expect(await page.locator("main img.picture").count()).toBe(1);
  expect(await page.locator("main img.picture").evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBe(1);
  expect(await page.title()).not.toBe("7");
  expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });

  const framing = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(`<iframe src="${page.url().split("#")[0]}"></iframe>`, { headers: { "Content-Type": "text/html" } }),
  });
  try {
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${framing.port}/`);
    const frame = other.frames()[1]!;
    await frame.waitForLoadState();
    expect(await frame.locator("#page").count()).toBe(0);
  } finally {
    await framing.stop(true);
  }
});

/** A program that listens at the hub's address while the hub is gone, and answers every request. */
function startOtherProgram(port: number, answer = () => Response.json({ proof: "none", key: "none", build: "another" })) {
  const seen: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch(request) {
      seen.push(`${request.method} ${request.url} ${JSON.stringify([...request.headers])} ${await request.text()}`);
      return answer();
    },
  });
  return { seen, stop: () => server.stop(true) };
}

test("a program at the hub's address gets no login, and after an update the page loads its new version once", async () => {
  await using opened = await openPage({ steps: [], final: "ok" });
  const { page, context, openWeb } = opened;
  await page.getByRole("textbox", { name: "message" }).fill("an unsent text");
  const before = await page.evaluate<number>("performance.timeOrigin");
  const { pid, port } = await openWeb();
  process.kill(pid, "SIGKILL");
  await page.locator(".line.offline").waitFor();
  const [cookie] = await context.cookies();
  const key = await page.evaluate<string>("Object.entries(localStorage).find(([name]) => name.startsWith('skein-key'))[1]");
  const other = startOtherProgram(port);
  try {
    await page.locator(".banner", { hasText: "Another program answers" }).waitFor({ timeout: 60_000 });
    await page.getByRole("link", { name: "Numbers" }).click();
    expect(other.seen.length).toBeGreaterThan(0);
    expect(other.seen.filter((request) => !request.includes("/proof"))).toEqual([]);
    for (const secret of [cookie!.value, cookie!.name, key]) expect(other.seen.join("\n")).not.toContain(secret);
  } finally {
    await other.stop();
  }
  await page.getByRole("link", { name: "Inbox", exact: true }).click();
  await page.route("**/build.json", (route) => route.fulfill({ json: { build: "another", version: "9.9.9" } }));
  await openWeb();
  // This server still has the old files. So the page is loaded once, and then only says that it is outdated.
  await page.locator(".banner", { hasText: "skein was updated" }).waitFor({ timeout: 30_000 });
  await page.waitForFunction((origin) => performance.timeOrigin !== origin, before);
  expect(await page.getByRole("textbox", { name: "message" }).inputValue()).toBe("an unsent text");
});

test("a program at the hub's address that says the login has ended gets no field for a password", async () => {
  await using opened = await openPage({ steps: [], final: "ok" });
  const { page, openWeb } = opened;
  const { pid, port } = await openWeb();
  process.kill(pid, "SIGKILL");
  await page.locator(".line.offline").waitFor();
  const other = startOtherProgram(port, () => new Response("not logged in", { status: 401 }));
  try {
    await page.getByText("another program may have answered").waitFor({ timeout: 60_000 });
    expect(await page.locator("input, textarea").count()).toBe(0);
    expect(await seriousProblems(page)).toEqual([]);
    expect(other.seen.filter((request) => !request.includes("/proof"))).toEqual([]);
  } finally {
    await other.stop();
  }
});
