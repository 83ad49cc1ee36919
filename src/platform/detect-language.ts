import { francAll } from "franc";
import {
  CONFIGURATION_OF_LANGUAGE,
  DEFAULT_LANGUAGE,
  NO_LANGUAGE,
  type TextConfiguration,
} from "../domain/knowledge/languages.ts";
import { isUnspaced } from "../domain/knowledge/words.ts";

/** The language of a shorter text cannot be detected reliably. */
const MIN_DETECTED = 60;
const DETECTED_CHARS = 4000;

/** The language of texts, if it is one that Postgres can stem. */
export function detectLanguage(texts: readonly string[]): TextConfiguration {
  let sample = "";
  for (const text of texts) {
    if (sample.length >= DETECTED_CHARS) break;
    sample += `${text.slice(0, DETECTED_CHARS)}\n`;
  }
  if (isUnspaced(sample.slice(0, 200))) return NO_LANGUAGE;
  if (sample.length < MIN_DETECTED) return DEFAULT_LANGUAGE;
  const only = Object.keys(CONFIGURATION_OF_LANGUAGE);
  const [best] = francAll(sample, { only });
  const configuration = CONFIGURATION_OF_LANGUAGE[best?.[0] as keyof typeof CONFIGURATION_OF_LANGUAGE];
  return configuration ?? NO_LANGUAGE;
}
