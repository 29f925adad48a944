// One block of the transcript. Tool calls are folded; their output is shown when they are opened or while they run.
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { formatDuration } from "../../../../kit/text/duration.ts";
import { mainArgument } from "../../../../protocol/tree/node.ts";
import { tokensText } from "../../../../protocol/tree/usage-text.ts";
import { withSubSessions } from "../../../../protocol/tree/usage.ts";
import { Action } from "../../components/action.tsx";
import { Code } from "../../components/code.tsx";
import { AgentLabel, CostLabel, StateLabel } from "../../components/labels.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { Picture } from "../../components/picture.tsx";
import { usePage } from "../../page-context.ts";
import { addressOf } from "../../route.ts";
import type { Block, ToolBlock } from "../../state/transcript.ts";
import { plainText, showDirections } from "../../text/plain-text.ts";
import { clockTime, exactTime } from "../../text/times.ts";

export const BlockRow = memo(({ block }: { block: Block }) => {
  switch (block.kind) {
    case "user":
      return (
        <article class="block user" aria-label="your message">
          <Markdown text={block.text} />
          {block.images.map((image, index) => (
            <Picture key={index} image={image} />
          ))}
        </article>
      );
    case "text":
      return (
        <article class={`block answer ${block.isLive ? "live" : ""}`} aria-label={`answer of ${block.by ?? "the agent"}`}>
          <Markdown text={block.text} />
        </article>
      );
    case "thinking":
      return (
        <details class="block thinking" open={block.isLive}>
          <summary>thinking</summary>
          <Markdown text={block.text} />
        </details>
      );
    case "tool":
      return <Tool block={block} />;
    case "image":
      return <Picture image={block.image} />;
    case "data":
      return (
        <details class="block data">
          <summary>{showDirections(block.title)}</summary>
          <Output text={block.text} handle={block.handle} />
        </details>
      );
    case "note":
      return (
        <details class="block note">
          <summary>
            {block.about}: {showDirections(block.text.split("\n", 1)[0]!.slice(0, 160))}
          </summary>
          <pre class="output">{plainText(block.text)}</pre>
        </details>
      );
    case "spawned":
      return (
        <p class="block spawned">
          <AgentLabel agent={block.agent} /> <a href={addressOf("session", block.session)}>{showDirections(block.task.slice(0, 200))}</a>
        </p>
      );
    case "turn":
      return <TurnEnd block={block} />;
  }
});

function TurnEnd({ block: { turn, error } }: { block: Extract<Block, { kind: "turn" }> }) {
  const spent = withSubSessions(turn);
  return (
    <div class="block turn-end">
      {turn.status !== "ok" && <StateLabel state={turn.status ?? "broken"} />}
      <AgentLabel agent={turn.agent} model={turn.model} />
      {turn.endedAt !== null && <span class="number">{formatDuration(turn.endedAt - turn.startedAt)}</span>}
      <CostLabel {...spent} />
      <span class="number faint">{tokensText(spent.usage)}</span>
      {turn.endedAt !== null && (
        <time class="faint" dateTime={new Date(turn.endedAt).toISOString()} title={exactTime(turn.endedAt)}>
          {clockTime(turn.endedAt)}
        </time>
      )}
      {error !== null && turn.status !== "ok" && (
        <p class="problem">
          {showDirections(error.message)}
          {error.hint !== undefined && <span class="hint"> {showDirections(error.hint)}</span>}
        </p>
      )}
    </div>
  );
}

function Tool({ block }: { block: ToolBlock }) {
  const { name, input, malformed, result, output } = block;
  const [isOpen, setOpen] = useState(false);
  const argument = malformed ?? (input === null ? "" : mainArgument(input));
  const state = result === null ? "running" : result.isError ? "bad" : "good";
  const mark = { running: "…", bad: "✗", good: "✓" }[state];
  return (
    <div class={`block tool ${state}`}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="mark" role="img" aria-label={{ running: "running", bad: "failed", good: "done" }[state]}>
            {mark}
          </span>
          <span class="tool-name">{showDirections(name)}</span>
          <span class="argument">{showDirections(argument.split("\n", 1)[0]!.slice(0, 300))}</span>
        </summary>
        {isOpen && <ToolBody block={block} argument={argument} />}
      </details>
      {!isOpen && result === null && output !== "" && (
        <pre class="output tail">{plainText(output.slice(-2_000)).split("\n").slice(-6).join("\n")}</pre>
      )}
    </div>
  );
}

function ToolBody({ block: { input, result, output }, argument }: { block: ToolBlock; argument: string }) {
  const isShown = input !== null && Object.keys(input).length <= 1 && !argument.includes("\n");
  return (
    <>
      {input !== null && !isShown && <Code text={JSON.stringify(input, null, 2)} language="json" />}
      {result?.display != null && <Code text={plainText(result.display)} language="diff" />}
      {result === null ? <pre class="output">{plainText(output)}</pre> : <Output text={result.text} handle={result.handle} />}
      {result?.images.map((image, index) => (
        <Picture key={index} image={image} />
      ))}
    </>
  );
}

/** Longest text that is shown at once. */
const maxShownChars = 200_000;

/** An excerpt, and a button for the whole output if it is stored. */
function Output({ text, handle }: { text: string; handle: string | null }) {
  const { line } = usePage();
  const [whole, setWhole] = useState<string | null>(null);
  const shown = whole ?? text;
  return (
    <>
      <pre class="output" tabIndex={0} aria-label="output">
        {plainText(shown.slice(0, maxShownChars))}
        {shown.length > maxShownChars && `\n… ${shown.length - maxShownChars} more characters`}
      </pre>
      {handle !== null && whole === null && (
        <Action
          run={async () => {
            const { content } = await line.api.handle.resolve({ identifier: handle, maxBytes: 1_000_000, as: "text" });
            setWhole(content);
          }}
        >
          Show all of it
        </Action>
      )}
    </>
  );
}
