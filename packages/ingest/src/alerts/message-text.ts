/** A message in words, for mail and chat. */
export interface MessageText {
  /** One line. */
  subject: string;
  text: string;
  html?: string;
}
