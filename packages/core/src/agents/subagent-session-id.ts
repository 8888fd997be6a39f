/** A sub-agent's transcript is a separate session; agent ids alone are too short to be unique. */
export function toSubagentSessionId(parentSessionId: string, agentId: string): string {
  return `${parentSessionId}:${agentId}`;
}
