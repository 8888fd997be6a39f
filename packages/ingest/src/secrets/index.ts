export { redactText } from './redact-text.ts';
export {
  createTranscriptRedactor,
  type RedactorOptions,
  type SecretFinding,
  type TranscriptRedactor,
} from './transcript-redactor.ts';
