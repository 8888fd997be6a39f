import type { RedactionMode } from '@recount/db';
import { RULE_SET_VERSION } from '../redaction/rule-set-version.ts';

/** Part of a transcript's parser version: rows of which it is missing, or another one, are to be made again. */
export function toRowsVersion(parserVersion: string, redaction: RedactionMode): string {
  return redaction === 'off' ? parserVersion : `${parserVersion}+${RULE_SET_VERSION}`;
}
