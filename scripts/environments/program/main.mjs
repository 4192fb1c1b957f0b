import * as sandgate from "sandgate";
import { dispatch } from "./dispatch.mjs";

dispatch(sandgate).then((results) => console.log(`RESULTS ${JSON.stringify(results)}`));
