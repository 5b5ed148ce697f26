/** A place as the Language Server Protocol counts it: from 0, in UTF-16 units. */
export interface Position {
  line: number;
  character: number;
}
