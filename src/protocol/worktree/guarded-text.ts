// The text about files of a merge that the user's git runs or obeys. Tools can't write them in the project itself.
import { pluralize } from "../../kit/text/cut-text.ts";

const maxShown = 5;

/** The reason why a merge needs a person, as text. */
export function guardedText(guarded: readonly string[]): string {
  const shown = guarded.slice(0, maxShown).join(", ");
  const rest = guarded.length > maxShown ? ` and ${pluralize(guarded.length - maxShown, "more file")}` : "";
  return `the work changes files that your git runs or obeys: ${shown}${rest}`;
}
