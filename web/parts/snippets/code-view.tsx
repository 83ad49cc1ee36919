import { useState, type JSX } from "react";
import { CopyButton } from "../copy.tsx";
import { keep, readKept } from "../kept.ts";
import { LANGUAGES, type Language } from "../../../src/domain/flow/io/call-code.ts";
import "./snippets.css";

const KEY = "millrace.reference.language";

/** Code in three languages; the chosen language is remembered. */
export function CodeView({ code }: { readonly code: (language: Language) => string }): JSX.Element {
  const [language, setLanguage] = useState<Language>(() => LANGUAGES.find((each) => each === readKept(KEY)) ?? "curl");
  const text = code(language);
  return (
    <div className="panel panel-flush">
      <div className="spread code-bar">
        <div className="row" role="group" aria-label="Language">
          {LANGUAGES.map((each) => (
            <button
              key={each}
              type="button"
              className="button button-small"
              aria-pressed={each === language}
              onClick={() => {
                keep(KEY, each);
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
      <pre className="code-text" tabIndex={0} role="region" aria-label={`${language} snippet`}>
        {text}
      </pre>
    </div>
  );
}
