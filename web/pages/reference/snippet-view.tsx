import { useState } from "react";
import type { JSX } from "react";
import type { RawRequest } from "../../api/raw-request.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { LANGUAGES, snippet } from "./snippets.ts";
import type { Language } from "./snippets.ts";

const KEY = "millrace.reference.language";

/** The request as code. The language is remembered. */
export function SnippetView({
  request,
  withKey,
}: {
  readonly request: RawRequest;
  readonly withKey: boolean;
}): JSX.Element {
  const [language, setLanguage] = useState<Language>(
    () => LANGUAGES.find((each) => each === localStorage.getItem(KEY)) ?? "curl",
  );
  const text = snippet(language, request, withKey);
  return (
    <div className="panel panel-flush">
      <div className="spread reference-bar">
        <div className="row" role="group" aria-label="Language">
          {LANGUAGES.map((each) => (
            <button
              key={each}
              type="button"
              className="button button-small"
              aria-pressed={each === language}
              onClick={() => {
                localStorage.setItem(KEY, each);
                setLanguage(each);
              }}
            >
              {each}
            </button>
          ))}
        </div>
        <CopyButton text={text} label={`${language} snippet`}>
          Copy
        </CopyButton>
      </div>
      <pre className="reference-code" tabIndex={0} role="region" aria-label={`${language} snippet`}>
        {text}
      </pre>
    </div>
  );
}
