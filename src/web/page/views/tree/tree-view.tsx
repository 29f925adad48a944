// The tree of a session as a picture: walk it, fork at any row, move the session, compare two branches, graft one into another.
import { useEffect, useMemo, useState } from "preact/hooks";
import { pluralize } from "../../../../kit/text/cut-text.ts";
import { branchName, branchStats } from "../../../../protocol/tree/branch-stats.ts";
import type { BranchComparison, TreeView as TreeData } from "../../../../protocol/schema/results.ts";
import { sessionLabel, type Session } from "../../../../protocol/tree/turn.ts";
import { Action, Problem, problemText } from "../../components/action.tsx";
import { useListKeys } from "../../components/list-keys.ts";
import { usePage } from "../../page-context.ts";
import { addressOf, goTo } from "../../route.ts";
import { useStore } from "../../state/store.ts";
import { showDirections } from "../../text/plain-text.ts";
import { exactTime } from "../../text/times.ts";
import type { SessionViewProps } from "../index.ts";
import { layOutTree, type TreePoint } from "./tree-layout.ts";
import { TreePicture } from "./tree-picture.tsx";

export function TreeView({ id, followed }: SessionViewProps) {
  const { line } = usePage();
  const { session } = useStore(followed.state);
  const [tree, setTree] = useState<TreeData | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [selected, setSelected] = useState<TreePoint | null>(null);
  const [round, setRound] = useState(0);
  const tip = session?.tip ?? null;
  useListKeys();
  useEffect(() => {
    let isCurrent = true;
    line.api.session.tree({ session: id, brief: true }).then(
      (loaded) => {
        if (!isCurrent) return;
        setTree(loaded);
        setProblem(null);
      },
      (error: unknown) => isCurrent && setProblem(problemText(error)),
    );
    return () => void (isCurrent = false);
  }, [line, id, tip, round]);
  const points = useMemo(() => (tree === null ? [] : layOutTree(tree.nodes, tree.sessions, tree.turns, tip)), [tree, tip]);
  if (problem !== null) return <Problem text={problem} />;
  if (tree === null || session === null) return <p class="faint loading">loading</p>;
  if (points.length === 0) return <p class="faint loading">The conversation has no messages.</p>;
  return (
    <div class="tree-view">
      <TreePicture points={points} selected={selected?.id ?? null} onSelect={setSelected} />
      {selected !== null && (
        <PointCard
          key={selected.id}
          point={selected}
          session={session}
          onChanged={() => {
            followed.reload();
            setRound(round + 1);
          }}
        />
      )}
    </div>
  );
}

type PointCardProps = { point: TreePoint; session: Session; onChanged: () => void };

function PointCard({ point, session, onChanged }: PointCardProps) {
  const { line } = usePage();
  const [comparison, setComparison] = useState<BranchComparison | null>(null);
  const others = point.sessions.filter((each) => each.id !== session.id);
  const compareWith = async (target: string) =>
    setComparison(await line.api.branch.compare({ a: session.id, b: target, directory: session.directory }));
  return (
    <section class="card tree-card" aria-label="selected row">
      <p class="faint">{`${point.isUser ? "you" : (point.agent ?? "note")}, ${exactTime(point.at)}`}</p>
      <p class="clamp">{showDirections(point.text.slice(0, 600))}</p>
      <span class="buttons">
        <Action
          tone="primary"
          shortcut={{ keys: "f", summary: "fork at the selected row" }}
          run={async () => {
            const { id } = await line.api.session.fork({ session: session.id, at: point.id, name: null });
            goTo("session", id);
          }}
        >
          Fork here
        </Action>
        {point.id !== session.tip && (
          <Action
            shortcut={{ keys: "v", summary: "move the session to the selected row" }}
            run={() => line.api.session.move({ session: session.id, node: point.id }).then(onChanged)}
          >
            Move this session here
          </Action>
        )}
        {!point.isOnPath && (
          <Action shortcut={{ keys: "o", summary: "compare with the selected row" }} run={() => compareWith(others[0]?.id ?? point.id)}>
            Compare
          </Action>
        )}
      </span>
      {others.map((other, index) => (
        <p key={other.id} class="row wrap">
          <a href={addressOf("session", other.id)}>{showDirections(sessionLabel(other))}</a>
          <Action
            {...(index === 0 && { shortcut: { keys: "e", summary: "graft the conclusion of the selected row" } })}
            run={() => line.api.graft.make({ from: other.id, into: session.id }).then(onChanged)}
          >
            Graft its conclusion
          </Action>
        </p>
      ))}
      {comparison !== null && <Comparison comparison={comparison} />}
    </section>
  );
}

function Comparison({ comparison: { a, b, shared } }: { comparison: BranchComparison }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="comparison">
      <table>
        <thead>
          <tr>
            <th scope="col">{`after ${pluralize(shared.messages, "shared message")}`}</th>
            <th scope="col">{showDirections(branchName(a))}</th>
            <th scope="col">{showDirections(branchName(b))}</th>
          </tr>
        </thead>
        <tbody>
          {branchStats.map(([name, figure]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{figure(a)}</td>
              <td>{figure(b)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
