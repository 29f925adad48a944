// The keys that work on the current view, as a dialog.
import { useEffect, useRef } from "preact/hooks";
import { logOut } from "../connection/login.ts";
import { activeKeys } from "../keys.ts";
import { Action } from "./action.tsx";

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <h2 id="help-title">Keys</h2>
      <dl>
        {activeKeys().map(({ keys, summary }) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{summary}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
        <Action run={() => logOut().then(() => location.reload())}>Log out</Action>
      </div>
    </dialog>
  );
}
