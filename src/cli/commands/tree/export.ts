// skein export: writes a session's whole tree, for reading or for import elsewhere.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { findLinkOutOf, followLinks } from "../../../kit/files/follow-links.ts";
import { readPathList } from "../../../kit/files/path-list.ts";
import { realPath } from "../../../kit/files/path-status.ts";
import { replaceSafely, writeAll } from "../../../kit/files/safe-file.ts";
import { redactDeep, redactor, envSecrets } from "../../../kit/text/redact.ts";
import { withInterrupted } from "../../../protocol/tree/interrupted-nodes.ts";
import { cutText, decodeUtf8 } from "../../../kit/text/cut-text.ts";
import type { Api, TreeView } from "../../../protocol/api/api.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { toolPlacesFile } from "../../../protocol/api/policy.ts";
import { resourceSettings } from "../../../protocol/otlp/otlp-settings.ts";
import { type Handle, storedIdentifier } from "../../../protocol/tree/handle.ts";
import type { ImageData, Node } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Command, CommandContext } from "../../parse/command.ts";
import { imageUrl } from "../../export/blocks.ts";
import type { Document } from "../../export/document.ts";
import { loadFileChanges } from "../../export/file-changes.ts";
import { htmlDocument } from "../../export/html.ts";
import { jsonDocument, jsonlDocument, type ReadOutput } from "../../export/records.ts";
import { markdownDocument, textDocument } from "../../export/text.ts";
import { findSession } from "../../parse/find-session.ts";

const formats = ["text", "md", "html", "json", "jsonl", "atif", "otlp"] as const;
export type ExportFormat = (typeof formats)[number];

export const exportCommand: Command = {
  name: "export",
  summary: "export a session's whole tree as text, Markdown, a web page or JSON",
  usage: "[session] [--format text|md|html|json|jsonl|atif|otlp] [--redact] [--whole] [--output file]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "format", value: "format", choices: formats, summary: "text (default), md, html, json, jsonl, atif or otlp" },
    { name: "redact", summary: "remove keys, tokens, passwords, e-mail addresses and home directories" },
    { name: "whole", summary: "include big outputs in full, not only their beginning and end (jsonl always does)" },
    { name: "output", short: "o", value: "file", summary: "write to this file, readable by you only" },
    jsonFlag,
  ],
  notes: `\`skein import\` reads jsonl back without loss. --redact does not change pictures.
atif is the Agent Trajectory Interchange Format 1.7, for evaluations: the branch of the
session, with its sub-sessions inside. import reads it, too. otlp is a trace of
OpenTelemetry with the same turns.
The other formats end with the file changes that the session's own turns made.
Changes by a person or another session are listed as not by this branch.

Examples:
  skein export --format html -o session.html
  skein export fix-tests --format jsonl --redact > shared.jsonl`,
  async run({ positionals: [query], flags }, ctx) {
    const api = await ctx.api();
    const session = await findSession(api, ctx, query);
    const view = await api.session.tree({ session: session.id, archived: true });
    const format = (flags["json"] === true ? "json" : (flags["format"] ?? "text")) as ExportFormat;
    const file = typeof flags["output"] === "string" ? absolutePath(flags["output"], ctx) : null;
    await writeTree({ session, view }, { api, format, file, isRedacted: flags["redact"] === true, isWhole: flags["whole"] === true }, ctx);
    return 0;
  },
};

type Tree = { session: Session; view: TreeView };
/** A null file is stdout. */
type ExportOptions = { api: Api; format: ExportFormat; file: string | null; isRedacted?: boolean; isWhole?: boolean };

export async function writeTree(
  tree: Tree,
  { api, format, file, isRedacted = false, isWhole = false }: ExportOptions,
  ctx: CommandContext,
): Promise<void> {
  const { home, env, out, version } = ctx;
  const redact = isRedacted ? redactor({ home, secrets: envSecrets(env) }) : null;
  const maxBytes = isWhole ? null : excerptBytes;
  const resolve = (handle: Handle) => resolveText(api, handle, { maxBytes, redact });
  const write = async (pieces: AsyncIterable<string>) => {
    if (file !== null) return writeFile(file, pieces, toolPlaces(ctx, tree.session));
    for await (const piece of pieces) out.write(piece);
  };
  const show = (session: string) => api.session.show({ session });
  if (format === "atif") {
    const { atifDocument } = await import("../../export/interchange/atif.ts");
    return write(atifDocument(tree.session, { version, show, redact, resolve: isWhole ? resolve : null }));
  }
  if (format === "otlp") {
    const { otlpDocument } = await import("../../export/interchange/otlp.ts");
    const { withContents, ...resource } = resourceSettings(env);
    return write(otlpDocument(tree.session, { show, redact, withContents, resource: { ...resource, version } }));
  }
  const shown = redact === null ? tree : redactTree(tree, redact);
  const document: Document = {
    session: shown.session,
    // Programs get the drafts of killed turns apart from the nodes, because those are not stored.
    view: format === "json" || format === "jsonl" ? shown.view : withInterrupted(shown.view),
    resolve,
    // `import` reads jsonl back, and the changes belong to this machine's records.
    files:
      format === "jsonl"
        ? null
        : await loadFileChanges(api, tree.session.id, { maxFiles: isWhole ? null : maxListedFiles, maxPatchBytes: maxBytes, redact }),
  };
  const pieces = {
    text: textDocument,
    md: markdownDocument,
    html: htmlDocument,
    json: jsonDocument,
    jsonl: (input: Document) => jsonlDocument(input, outputReader(api, redact)),
  }[format](document);
  await write(pieces);
}

/** Directories where tools can write, or could in any run so far: a link in them is not the user's. */
export function toolPlaces({ project, state }: CommandContext, session: Session): string[] {
  return [project, session.project, session.directory, ...readPathList(join(state, toolPlacesFile))];
}

const excerptBytes = 64 * 1024;
const maxListedFiles = 200;

type Redact = (text: string) => string;

/** Keeps pictures. Removes opaque vendor data, because its content can't be checked. */
function redactTree(tree: Tree, redact: Redact): Tree {
  const nodes = tree.view.nodes.map((node): Node => ({
    ...node,
    parts: node.parts
      .map((part) => ("opaque" in part ? { ...part, opaque: undefined } : part))
      .map((part) => JSON.parse(JSON.stringify(part))),
  }));
  return redactDeep(
    { session: tree.session, view: { ...tree.view, nodes } },
    redact,
    (value) => "mime" in value && "base64" in value && imageUrl(value as ImageData) !== null,
  );
}

type ResolveOptions = { maxBytes: number | null; redact: Redact | null };

/** Null if the data was removed, or if its source stores none. Then the export contains the excerpt. */
async function resolveText(api: Api, handle: Handle, { maxBytes, redact }: ResolveOptions): Promise<string | null> {
  try {
    // The text is redacted before it is cut, because half a key would not be recognised.
    const readBytes = redact === null ? maxBytes : null;
    const { content } = await api.handle.resolve({ identifier: storedIdentifier(handle), maxBytes: readBytes, as: "text" });
    if (redact === null) return content;
    return maxBytes === null ? redact(content) : cutText(redact(content), maxBytes, { keep: "both", headShare: 0.5 }).text;
  } catch {
    return null;
  }
}

function outputReader(api: Api, redact: Redact | null): ReadOutput {
  const exported = new Set<string>();
  return async (handle) => {
    const identifier = storedIdentifier(handle);
    if (exported.has(identifier)) return null;
    exported.add(identifier);
    try {
      const { content, bytes, cutBytes } = await api.handle.resolve({ identifier, maxBytes: null, as: "base64" });
      const data = Buffer.from(content, "base64");
      const text = decodeUtf8(data);
      const size = { bytes, cut_bytes: cutBytes };
      if (redact !== null) return { ...size, text: redact(text) };
      return Buffer.from(text).equals(data) ? { ...size, text } : { ...size, base64: content };
    } catch {
      return null;
    }
  };
}

/** A failure keeps the existing file. `places` are directories where tools can write. */
export async function writeFile(path: string, pieces: AsyncIterable<string> | Iterable<string>, places: readonly string[]): Promise<void> {
  const followed = followLinks(dirname(path));
  const roots = places.flatMap((directory) => realPath(directory) ?? []);
  const link = followed === null ? undefined : findLinkOutOf(roots, followed);
  if (link !== undefined)
    throw new Fault("file-unwritable", `${link} is a symbolic link to ${followed?.path}, in a directory where tools can write`, {
      hint: `if you made the link, name its target instead: ${followed?.path}`,
    });
  try {
    await replaceSafely(join(followed?.path ?? dirname(path), basename(path)), async (file) => {
      for await (const piece of pieces) writeAll(file, piece);
    });
  } catch (error) {
    if (error instanceof Fault) throw error;
    const reason = existsSync(dirname(path)) ? messageOf(error) : `there is no directory ${dirname(path)}`;
    throw new Fault("file-unwritable", `can't write ${path}: ${reason}`, { cause: error });
  }
}
