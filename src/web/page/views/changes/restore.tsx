// Restores the files of the project to the state at a node: first the changes that it would make, then the restore, then its
// undo. The conversation stays where it is.
import { useState } from "preact/hooks";
import { changeText } from "../../../../protocol/tree/branch-stats.ts";
import type { FilesRestorePlan } from "../../../../protocol/schema/results.ts";
import { Action } from "../../components/action.tsx";
import { usePage } from "../../page-context.ts";
import { showDirections } from "../../text/plain-text.ts";

type RestoreProps = { node: string; directory: string; onDone: () => void };
type Step = { kind: "idle" } | { kind: "planned"; plan: FilesRestorePlan } | { kind: "restored"; undo: string; isUndo: boolean };

export function Restore({ node, directory, onDone }: RestoreProps) {
  const { line } = usePage();
  const [step, setStep] = useState<Step>({ kind: "idle" });
  const plan = async (to: string) => setStep({ kind: "planned", plan: await line.api.files.planRestore({ to, directory }) });
  const restore = async ({ project, from, to, undo }: FilesRestorePlan) => {
    await line.api.files.restore({ project, from, to });
    setStep({ kind: "restored", undo, isUndo: false });
    onDone();
  };
  const undo = async (state: string) => {
    const planned = await line.api.files.planRestore({ to: state, directory });
    await line.api.files.restore({ project: planned.project, from: planned.from, to: planned.to });
    setStep({ kind: "restored", undo: planned.undo, isUndo: true });
    onDone();
  };
  if (step.kind === "idle") return <Action run={() => plan(node)}>Restore these files…</Action>;
  if (step.kind === "restored")
    return (
      <p class="row wrap" role="status">
        <span>{step.isUndo ? "The restore was undone." : "The files are restored."}</span>
        <Action run={() => undo(step.undo)}>{step.isUndo ? "Restore again" : "Undo"}</Action>
      </p>
    );
  const { changes, kept } = step.plan;
  return (
    <div class="card preview" role="region" aria-label="what the restore would change">
      <strong>{changes.length === 0 ? "The files are already so." : "The restore would change:"}</strong>
      <pre class="output">{[...changes.map(changeText), ...kept.map((path) => `stays: ${path}`)].map(showDirections).join("\n")}</pre>
      <span class="buttons">
        {changes.length > 0 && (
          <Action tone="danger" run={() => restore(step.plan)}>
            Restore
          </Action>
        )}
        <Action run={async () => setStep({ kind: "idle" })}>Cancel</Action>
      </span>
    </div>
  );
}
