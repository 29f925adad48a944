// Reads the result of a call from the executor. Commands run beside the executor, so its data is not trusted: only known
// fields of the right type are taken.
import { isRecord, type Json } from "../kit/text/json.ts";
import { type Denial, denialKinds } from "../protocol/api/policy.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";
import type { ImageData } from "../protocol/tree/node.ts";

/** Throws if the text is missing, which no executor of ours sends. */
export function readOutcome(value: unknown): ToolOutcome {
  if (!isRecord(value) || typeof value["text"] !== "string") throw new TypeError("the result of the executor has no text");
  const images = recordsIn(value["images"]).flatMap(readImage);
  const denied = recordsIn(value["denied"]).flatMap(readDenial);
  const { text, isError, display, exitCode, signal, durationMs, bytes } = value;
  return {
    text,
    isError: isError === true,
    ...(images.length > 0 ? { images } : {}),
    ...(typeof display === "string" ? { display } : {}),
    ...(denied.length > 0 ? { denied } : {}),
    ...(typeof exitCode === "number" || exitCode === null ? { exitCode } : {}),
    ...(typeof signal === "string" || signal === null ? { signal } : {}),
    ...(typeof durationMs === "number" ? { durationMs } : {}),
    ...(typeof bytes === "number" ? { bytes } : {}),
  };
}

function readImage({ mime, base64 }: Json): ImageData[] {
  return typeof mime === "string" && typeof base64 === "string" ? [{ mime, base64 }] : [];
}

function readDenial({ what, text }: Json): Denial[] {
  const kind = denialKinds.find((name) => name === what);
  return kind !== undefined && typeof text === "string" ? [{ what: kind, text }] : [];
}

function recordsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
