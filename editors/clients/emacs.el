;;; emacs.el --- The setup of docs/editors.md in Emacs -*- lexical-binding: t -*-
;;
;; Run in the folder of an app, with the qlio to test in the path:
;; emacs --batch -q -l emacs.el PAGE SCRIPT.  Evaluates the setup as PAGE has it, opens SCRIPT, which has one
;; mistake, and prints what the server says of it.

(require 'cl-lib)
(package-initialize)
(require 'eglot)
(require 'flymake)

(defvar qlio-patience 60 "Seconds that anything may take.")

(defun qlio-wait (what condition)
  "Wait until CONDITION gives something, which is returned; fail with WHAT."
  (let ((end (+ (float-time) qlio-patience)) found)
    (while (not (setq found (funcall condition)))
      (when (> (float-time) end) (error "In vain: %s" what))
      (accept-process-output nil 0.05))
    found))

(let ((page (pop command-line-args-left)) (script (pop command-line-args-left)))
  (setq eglot-sync-connect 30 eglot-connect-timeout 60)
  (with-temp-buffer
    (insert-file-contents page)
    (search-forward "```elisp\n")
    (let ((start (point)))
      (search-forward "```")
      (eval-region start (match-beginning 0))))
  (find-file script)
  (princ (format "mode: %s\n" major-mode))
  ;; Batch mode runs no idle hooks, which is what connects otherwise.
  (unless (eglot-managed-p) (apply #'eglot (eglot--guess-contact)))
  (qlio-wait "a connection" #'eglot-managed-p)
  (flymake-start)
  (princ (format "problem: %s\n" (flymake-diagnostic-text
    (car (qlio-wait "a problem" (lambda () (flymake-start) (flymake-diagnostics)))))))
  (goto-char (point-min))
  (search-forward "frm")
  (replace-match "from")
  (eglot--signal-textDocument/didChange)
  (search-forward "shop.goods")
  (backward-char)
  (let ((hover (jsonrpc-request (eglot--current-server-or-lose) :textDocument/hover
                                (eglot--TextDocumentPositionParams))))
    (princ (format "hover: %s\n" (plist-get (plist-get hover :contents) :value))))
  (let ((definition (car (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot)))))
    (princ (format "definition: %s\n" (xref-location-group (xref-item-location definition)))))
  (eglot-format-buffer)
  (princ (format "formatted: %s\n" (buffer-substring-no-properties (point-min) (point-max))))
  (set-buffer-modified-p nil))
