import type { JSX } from "react";
import type { PublishedPage } from "../../api/published-pages.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Notice } from "../../parts/states.tsx";

/** The address of a page, and the code that puts it on a website. */
export function ShareDialog({
  page: { look, url, status, origins, kind },
  onClose,
}: {
  readonly page: PublishedPage;
  readonly onClose: () => void;
}): JSX.Element {
  const snippet = embedCode(url, kind === "chat" ? "Open chat" : "Open form", look.colour);
  return (
    <Dialog title={look.name} onClose={onClose} wide>
      {status !== "active" && (
        <Notice tone="warn">
          {status === "revoked" ? "This page is revoked. Its URL does not work any more." : "This page has closed."}
        </Notice>
      )}
      {url === "" ? (
        <Notice tone="warn">The URL cannot be shown: it was encrypted with a master key that is not configured.</Notice>
      ) : (
        <>
          <div className="stack-tight">
            <div className="spread">
              <h3>URL</h3>
              <span className="row">
                <a className="button button-small" href={url} target="_blank" rel="noopener noreferrer">
                  Open the page
                </a>
                <CopyButton text={url} label="URL of the page">
                  Copy URL
                </CopyButton>
              </span>
            </div>
            <code className="wrap published-code">{url}</code>
          </div>
          <div className="stack-tight">
            <div className="spread">
              <h3>On your website</h3>
              <CopyButton text={snippet} label="embed code">
                Copy code
              </CopyButton>
            </div>
            <pre className="published-code" tabIndex={0}>
              <code>{snippet}</code>
            </pre>
            <p className="small muted wrap">
              {origins.length === 0
                ? "No website may show this page yet: add the origin of your website to it."
                : `Works on ${origins.join(", ")}.`}{" "}
              A button opens the page in a frame.
            </p>
          </div>
        </>
      )}
    </Dialog>
  );
}

/** The script element that puts a button for a page on a website. */
function embedCode(url: string, label: string, colour: string | null): string {
  if (!URL.canParse(url)) return "";
  const { origin, pathname } = new URL(url);
  const token = pathname.split("/").at(-1) ?? "";
  const own = colour === null ? "" : ` data-colour="${colour}"`;
  return `<script src="${origin}/embed.js" data-page="${token}" data-label="${label}"${own} defer></script>`;
}
