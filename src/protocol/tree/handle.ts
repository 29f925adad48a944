// A handle points at data that is too big for a node or outside of the tree.
import type { Handle } from "../schema/tree.ts";

export type { Handle, HandleMetadata } from "../schema/tree.ts";

/** The identifier of the stored copy. A `bash` handle is its own copy; others name one, so that a replay gets the same data. */
export function storedIdentifier(handle: Handle): string {
  return typeof handle.metadata["stored"] === "string" ? handle.metadata["stored"] : handle.identifier;
}
