// The messages of a team, the latest first, and a form to send one.
import { useState } from "preact/hooks";
import { membersOf } from "../../../../protocol/team/team.ts";
import type { TeamMessageResult, TeamView } from "../../../../protocol/team/views.ts";
import { Action } from "../../components/action.tsx";
import { usePage } from "../../page-context.ts";
import { showDirections } from "../../text/plain-text.ts";

const shownMessages = 50;

export function TeamMail({ view, onSent }: { view: TeamView; onSent: () => void }) {
  const { messages } = view.team;
  const nameOf = namesIn(view);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? messages.toReversed() : messages.slice(-shownMessages).toReversed();
  return (
    <section aria-labelledby="mail">
      <h2 id="mail">
        Messages <span class="count">{messages.length}</span>
      </h2>
      <SendMessage view={view} onSent={onSent} />
      <ul class="rows">
        {shown.map(({ id, from, to, kind, subject, body, undelivered }) => (
          <li key={id} class="member">
            <span class="facts">
              <strong>{showDirections(`${nameOf(from)} to ${to.map(nameOf).join(", ")}`)}</strong>
              <span>{kind}</span>
              {undelivered.length > 0 && (
                <span class="state wait">{showDirections(`not to ${undelivered.map((missed) => nameOf(missed.to)).join(", ")}`)}</span>
              )}
            </span>
            <p class="message">
              {showDirections(
                [subject, body]
                  .filter((part) => part !== "")
                  .join(": ")
                  .slice(0, 4_000),
              )}
            </p>
          </li>
        ))}
      </ul>
      {shown.length < messages.length && (
        <button type="button" class="button" onClick={() => setWhole(true)}>
          {`Show ${messages.length - shown.length} more`}
        </button>
      )}
    </section>
  );
}

function namesIn(view: TeamView): (id: string) => string {
  return (id) => membersOf(view.team).find((member) => member.id === id)?.plan.key ?? id;
}

function SendMessage({ view, onSent }: { view: TeamView; onSent: () => void }) {
  const { line } = usePage();
  const nameOf = namesIn(view);
  const [to, setTo] = useState("all");
  const [body, setBody] = useState("");
  const [sent, setSent] = useState<TeamMessageResult | null>(null);
  const send = async () => {
    const message = { kind: "announcement", priority: "normal", subject: "", replyTo: null, requiresResponse: false } as const;
    setSent(await line.api.team.message({ session: view.session.id, to: [to], body, ...message }));
    setBody("");
    onSent();
  };
  return (
    <form class="row wrap" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        <span>to</span>
        <select class="input small" value={to} onChange={(event) => setTo(event.currentTarget.value)}>
          <option value="all">all</option>
          {membersOf(view.team).map(({ id, plan }) => (
            <option key={id} value={id}>
              {plan.key}
            </option>
          ))}
        </select>
      </label>
      <input
        class="input grow"
        aria-label="message to the team"
        placeholder="Message to the team"
        value={body}
        onInput={(event) => setBody(event.currentTarget.value)}
      />
      <Action tone="primary" isSubmit isDisabled={body.trim() === ""} run={send}>
        Send
      </Action>
      {sent !== null && (
        <p class="faint" role="status">
          {sent.when === "now" ? "They get it at their next step." : "They get it when the team is resumed."}
          {sent.misses.map(({ to: missed, reason }) => ` Not for ${showDirections(nameOf(missed))}: ${reason}.`)}
        </p>
      )}
    </form>
  );
}
