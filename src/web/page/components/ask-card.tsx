// A question of an agent, with its options and a field for another answer.
import { useState } from "preact/hooks";
import type { Ask } from "../../../protocol/api/control.ts";
import { usePage } from "../page-context.ts";
import { Action } from "./action.tsx";
import { Ago } from "./labels.tsx";
import { Markdown } from "./markdown.tsx";

export function AskCard({ ask, title }: { ask: Ask; title?: string }) {
  const { line } = usePage();
  const [text, setText] = useState("");
  const answer = (reply: string) => line.api.ask.answer({ ask: ask.id, text: reply });
  return (
    <article class="card ask" aria-label="question of an agent">
      <div class="card-head">
        <span class="state ask">question</span>
        {title !== undefined && (
          <a class="title" href={`#/session/${ask.session}`}>
            {title}
          </a>
        )}
        <span class="faint">
          <Ago at={ask.openedAt} />
        </span>
      </div>
      <Markdown text={ask.question} />
      {ask.options.length > 0 && (
        <div class="buttons">
          {ask.options.map((option, index) => (
            <Action key={option} run={() => answer(String(index + 1))}>
              {option}
            </Action>
          ))}
        </div>
      )}
      <form class="row" onSubmit={(event) => event.preventDefault()}>
        <input
          class="input"
          aria-label="your answer"
          placeholder="another answer"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <Action tone="primary" isSubmit isDisabled={text.trim() === ""} run={() => answer(text)}>
          Answer
        </Action>
      </form>
    </article>
  );
}
