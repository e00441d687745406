"use strict";
// The scripts are one function of one request. It is installed once per document and keeps its state there.

const HOME = "__q7xk2vd9h";
if (globalThis[HOME]) return globalThis[HOME](request);
