// skein export: a session's whole tree, for reading or for taking elsewhere.
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { redactDeep, redactor, envSecrets } from "../../../kit/text/redact.ts";
import { cutText, decodeUtf8 } from "../../../kit/text/cut-text.ts";
import type { Api, TreeView } from "../../../protocol/api/api.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { type Handle, storedIdentifier } from "../../../protocol/tree/handle.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import type { Document } from "../../export/document.ts";
import { htmlDocument } from "../../export/html.ts";
import { jsonDocument, jsonlDocument, type WholeOutput } from "../../export/records.ts";
import { markdownDocument, textDocument } from "../../export/text.ts";
import { findSession } from "../../parse/find-session.ts";

const formats = ["text", "md", "html", "json", "jsonl"] as const;
type Format = (typeof formats)[number];

export const exportCommand: Command = {
  name: "export",
  summary: "a session's whole tree as text, Markdown, a web page or JSON",
  usage: "[session] [--format text|md|html|json|jsonl] [--redact] [--whole] [--output file]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "format", value: "format", choices: formats, summary: "text (default), md, html, json or jsonl" },
    { name: "redact", summary: "leave out keys, tokens, passwords, e-mail addresses and home directories" },
    { name: "whole", summary: "big outputs whole, not only their beginning and end (jsonl always has them whole)" },
    { name: "output", short: "o", value: "file", summary: "write to this file, readable by you only" },
    jsonFlag,
  ],
  notes: `jsonl is what \`skein import\` reads back without loss. --redact does not look into pictures.

Examples:
  skein export --format html -o session.html
  skein export fix-tests --format jsonl --redact > shared.jsonl`,
  run: runExport,
};

async function runExport(args: Args, ctx: CommandContext): Promise<number> {
  const format = (args.flags["json"] === true ? "json" : (args.flags["format"] ?? "text")) as Format;
  const api = await ctx.api();
  const wanted = await findSession(api, ctx, args.positionals[0]);
  const found = await api.session.tree({ session: wanted.id, archived: true });
  const redact = args.flags["redact"] === true ? redactor({ home: ctx.home, secrets: envSecrets(ctx.env) }) : null;
  const whole = { session: wanted, view: found };
  const { session, view } = redact === null ? whole : withoutSecrets(whole, redact);
  const bound = args.flags["whole"] === true ? null : excerptBytes;
  const document: Document = { session, view, resolve: (handle) => textBehind(api, handle, bound, redact) };
  const pieces = {
    text: textDocument,
    md: markdownDocument,
    html: htmlDocument,
    json: jsonDocument,
    jsonl: (from: Document) => jsonlDocument(from, wholeOutputs(api, redact)),
  }[format](document);
  const output = args.flags["output"];
  if (typeof output === "string") await writeFile(absolutePath(output, { cwd: ctx.cwd, home: ctx.home }), pieces);
  else for await (const piece of pieces) ctx.out.write(piece);
  return 0;
}

const excerptBytes = 64 * 1024;

type Redact = (text: string) => string;

/** Pictures stay; what vendors sealed goes, since nobody can say what is in it. */
function withoutSecrets(whole: { session: Session; view: TreeView }, redact: Redact): typeof whole {
  const nodes = whole.view.nodes.map((node): Node => ({
    ...node,
    parts: node.parts
      .map((part) => ("opaque" in part ? { ...part, opaque: undefined } : part))
      .map((part) => JSON.parse(JSON.stringify(part))),
  }));
  return redactDeep({ session: whole.session, view: { ...whole.view, nodes } }, redact, isPicture);
}

function isPicture(value: object): boolean {
  return "mime" in value && "base64" in value && String(value.mime).startsWith("image/") && /^[A-Za-z0-9+/=]*$/.test(String(value.base64));
}

/** Null when the data is not there any more, or of a source that keeps none: the excerpt stands for it. */
async function textBehind(api: Api, handle: Handle, bound: number | null, redact: Redact | null): Promise<string | null> {
  try {
    // A cut could leave half a key that nothing recognises, so what is redacted is cut afterwards.
    const maxBytes = redact === null ? bound : null;
    const { content } = await api.handle.resolve({ identifier: storedIdentifier(handle), maxBytes, as: "text" });
    if (redact === null) return content;
    return bound === null ? redact(content) : cutText(redact(content), bound, { keep: "both", headShare: 0.5 }).text;
  } catch {
    return null;
  }
}

function wholeOutputs(api: Api, redact: Redact | null): WholeOutput {
  const given = new Set<string>();
  return async (handle) => {
    const identifier = storedIdentifier(handle);
    if (given.has(identifier)) return null;
    given.add(identifier);
    try {
      const { content, bytes, cutBytes } = await api.handle.resolve({ identifier, maxBytes: null, as: "base64" });
      const data = Buffer.from(content, "base64");
      const text = decodeUtf8(data);
      const place = { bytes, cut_bytes: cutBytes };
      if (redact !== null) return { ...place, text: redact(text) };
      return Buffer.from(text).equals(data) ? { ...place, text } : { ...place, base64: content };
    } catch {
      return null;
    }
  };
}

/** Beside its place first, so that a failure leaves what was there. */
async function writeFile(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const partial = `${path}.${process.pid}.partial`;
  try {
    const fd = openSync(partial, "wx", 0o600);
    try {
      for await (const piece of pieces) {
        const bytes = Buffer.from(piece);
        for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
      }
    } finally {
      closeSync(fd);
    }
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof Fault) throw error;
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}
