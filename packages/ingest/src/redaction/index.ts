export {
  createTranscriptRedactor,
  type RedactorOptions,
  type SecretFinding,
  type TranscriptRedactor,
} from './transcript-redactor.ts';
export { redactText } from './redact-text.ts';
