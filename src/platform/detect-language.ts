import { francAll } from "franc";
import { CONFIGURATION_OF_LANGUAGE, DEFAULT_LANGUAGE, isUnspaced, NO_LANGUAGE } from "../domain/knowledge/languages.ts";
import type { TextConfiguration } from "../domain/knowledge/languages.ts";

/** A shorter text says too little about its language. */
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
