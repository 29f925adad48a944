;; skein in Emacs, with agent-shell. It was not tried with skein; the settings follow the documentation of agent-shell.
(require 'acp)
(require 'agent-shell)

(defun skein-agent-shell ()
  "Open a shell that talks to skein."
  (interactive)
  (agent-shell-start
   :config
   (agent-shell-make-agent-config
    :identifier 'skein
    :mode-line-name "skein"
    :buffer-name "skein"
    :shell-prompt "skein> "
    :shell-prompt-regexp "skein> "
    :client-maker
    (lambda (buffer)
      (acp-make-client :command "skein"
                       :command-params '("acp")
                       :context-buffer buffer)))))
