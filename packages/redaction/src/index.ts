export { RULE_SET_VERSION } from './rule-set-version.ts';
export {
  createTranscriptRedactor,
  type RedactorOptions,
  type SecretFinding,
  type TranscriptRedactor,
} from './transcript-redactor.ts';
