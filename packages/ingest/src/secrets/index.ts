export { redactText } from './redact-text.ts';
export {
  type RedactorOptions,
  type SecretFinding,
  TranscriptRedactor,
} from './transcript-redactor.ts';
