// The file changes of the exported branch, in a bounded size, for every readable format and for JSON.
import { cutText, groupDigits } from "../../kit/text/cut-text.ts";
import { redactDeep } from "../../kit/text/redact.ts";
import { printableText } from "../../kit/text/terminal-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { changeText, notByBranchText, unknownFilesText, writersText } from "../../protocol/tree/branch-stats.ts";
import type { ExportedFiles } from "../../protocol/tree/views.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";

export type FilesLimit = {
  /** For each of the two lists; null for no limit. */
  maxFiles: number | null;
  maxPatchBytes: number | null;
  /** Null leaves the texts as they are. */
  redact: ((text: string) => string) | null;
};

/** A failure is a field of the result, so that the transcript is exported in any case. */
export async function loadFileChanges(api: Api, session: string, limit: FilesLimit): Promise<ExportedFiles> {
  const nothing = { project: null, files: null, otherFiles: [], unknownFiles: 0, patch: "" };
  const { problem, ...report } = await api.branch.files({ session }).then(
    (known) => ({ ...known, problem: null }),
    (error: unknown) => ({ ...nothing, problem: messageOf(error) }),
  );
  // Texts are redacted before the patch is cut, because half a key would not be recognised.
  const shown = limit.redact === null ? { ...report, problem } : redactDeep({ ...report, problem }, limit.redact);
  const maxFiles = limit.maxFiles ?? Infinity;
  const patch =
    limit.maxPatchBytes === null ? { text: shown.patch, cutBytes: 0 } : cutText(shown.patch, limit.maxPatchBytes, { keep: "head" });
  return {
    ...shown,
    files: shown.files?.slice(0, maxFiles) ?? null,
    otherFiles: shown.otherFiles.slice(0, maxFiles),
    patch: patch.text,
    moreFiles: Math.max(0, (shown.files?.length ?? 0) - maxFiles),
    moreOtherFiles: Math.max(0, shown.otherFiles.length - maxFiles),
    patchCutBytes: patch.cutBytes,
  };
}

/** A part of the section about files: a list with an optional title, or the patch. Its lines are plain text. */
export type FilesBlock = { kind: "list"; title: string | null; lines: string[] } | { kind: "patch"; text: string };

/** The title and the blocks of the section. Null if the branch changed nothing and nothing is unknown. */
export function filesSection(session: Session, files: ExportedFiles | null): { title: string; blocks: FilesBlock[] } | null {
  if (files === null) return null;
  const lists = [ownLines(files), otherLines(files)] as const;
  const blocks: FilesBlock[] = [
    ...(lists[0].length === 0 ? [] : [{ kind: "list" as const, title: null, lines: lists[0] }]),
    ...(lists[1].length === 0 ? [] : [{ kind: "list" as const, title: notByBranchText, lines: lists[1] }]),
    ...(files.patch === "" ? [] : [{ kind: "patch" as const, text: patchText(files) }]),
  ];
  return blocks.length === 0 ? null : { title: `files changed by ${sessionLabel(session)}`, blocks };
}

function ownLines(files: ExportedFiles): string[] {
  if (files.problem !== null) return [`the file changes can't be read: ${files.problem}`];
  if (files.files === null) return ["the file changes were not recorded"];
  const unknown = unknownFilesText(files);
  return [...files.files.map(changeText), ...moreLine(files.moreFiles), ...(unknown === null ? [] : [unknown])];
}

function otherLines({ otherFiles, moreOtherFiles }: ExportedFiles): string[] {
  return [...otherFiles.map((file) => `${changeText(file)} (${writersText(file)})`), ...moreLine(moreOtherFiles)];
}

function moreLine(count: number): string[] {
  return count === 0 ? [] : [`and ${groupDigits(count)} more`];
}

/** Removes control characters, because the formats would apply a carriage return, and that hides the text before it. */
function patchText({ patch, patchCutBytes }: ExportedFiles): string {
  const note = patchCutBytes === 0 ? "" : `\n[... ${groupDigits(patchCutBytes)} bytes of the diff not shown ...]`;
  return `${printableText(patch).trimEnd()}${note}`;
}
