// The choices of a message: agent, model and policy. An empty field leaves the choice to the session and the configuration.
import { useRef, useState } from "preact/hooks";
import { policyNames } from "../../../protocol/api/policy.ts";
import { usePage } from "../page-context.ts";

export type Choice = { agent: string; model: string; policy: string };
type ChoicesProps = {
  /** The session's agent and model, shown if no other is chosen. */
  current: { agent: string; model: string | null } | null;
  choice: Choice;
  onChange: (choice: Choice) => void;
};

export function Choices({ current, choice, onChange }: ChoicesProps) {
  const { line } = usePage();
  const [agents, setAgents] = useState<readonly string[]>([]);
  const [models, setModels] = useState<readonly string[]>([]);
  // The lists are read when the user opens a field, because finding installed agents takes a moment.
  const isLoaded = useRef(false);
  const loadLists = () => {
    if (isLoaded.current) return;
    isLoaded.current = true;
    // Without a list the user can still type a name. The next focus reads the lists again.
    const retry = () => void (isLoaded.current = false);
    line.api.agents.list().then((list) => setAgents(list.filter(({ installed }) => installed).map(({ name }) => name)), retry);
    line.api.models.list().then((list) => setModels(list.filter(({ ready }) => ready).map(({ name }) => name)), retry);
  };
  return (
    <>
      <input
        class="input small choice"
        list="agents"
        aria-label="agent"
        placeholder={current?.agent ?? "agent"}
        value={choice.agent}
        onFocus={loadLists}
        onInput={(event) => onChange({ ...choice, agent: event.currentTarget.value.trim() })}
      />
      <datalist id="agents">
        {agents.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <input
        class="input small choice"
        list="models"
        aria-label="model"
        placeholder={current?.model ?? "model"}
        value={choice.model}
        onFocus={loadLists}
        onInput={(event) => onChange({ ...choice, model: event.currentTarget.value.trim() })}
      />
      <datalist id="models">
        {models.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <select
        class="input small"
        aria-label="policy"
        value={choice.policy}
        onChange={(event) => onChange({ ...choice, policy: event.currentTarget.value })}
      >
        <option value="">policy</option>
        {policyNames.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  );
}
