// The floor of the comparison: a bare loop on skein's runtime. It sends the same kind of request to the model server and runs
// the calls of each answer by `bash -c`. It stores nothing, has no sandbox and checks nothing.
type Block = { type: string; id: string; text: string; name: string; input: { command: string } };

const url = `${process.env["ANTHROPIC_BASE_URL"]}/v1/messages`;
const tools = [
  { name: "bash", description: "Runs a command.", input_schema: { type: "object", properties: { command: { type: "string" } } } },
];

void main(process.argv[2] ?? "").then(() => process.exit(0));

async function main(task: string): Promise<void> {
  const messages: { role: string; content: unknown }[] = [{ role: "user", content: task }];

  for (;;) {
    const body = JSON.stringify({
      model: "claude-sonnet-4-5",
      max_tokens: 8192,
      stream: true,
      system: "You run commands.",
      tools,
      messages,
    });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const content = readBlocks(await response.text());
    const calls = content.filter(({ type }) => type === "tool_use");
    if (calls.length === 0) break;
    messages.push({ role: "assistant", content });
    const results: unknown[] = [];
    for (const { id, input } of calls) results.push({ type: "tool_result", tool_use_id: id, content: await outputOf(input.command) });
    messages.push({ role: "user", content: results });
  }
}

async function outputOf(command: string): Promise<string> {
  const child = Bun.spawn(["/bin/bash", "-c", command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  // skein and its peers also send only a part of a long output.
  return out.slice(0, 10_000) + out.slice(10_000).slice(-10_000);
}

/** The content of a streamed answer. */
function readBlocks(stream: string): Block[] {
  const blocks: Block[] = [];
  const inputs: string[] = [];
  for (const line of stream.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    const event = JSON.parse(line.slice("data: ".length)) as {
      type: string;
      index: number;
      content_block?: Block;
      delta?: { text?: string; partial_json?: string };
    };
    if (event.type === "content_block_start") blocks[event.index] = event.content_block!;
    if (event.type !== "content_block_delta") continue;
    if (event.delta?.text !== undefined) blocks[event.index]!.text += event.delta.text;
    inputs[event.index] = (inputs[event.index] ?? "") + (event.delta?.partial_json ?? "");
  }
  return blocks.map((block, index) => (block.type === "tool_use" ? { ...block, input: JSON.parse(inputs[index] || "{}") } : block));
}
