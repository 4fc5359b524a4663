// Which package and vendor a file belongs to: a table of rules on paths, the first that fits counts.
//
// This is the one place to say what a site's own modules are called. A rule is a pattern of the whole path, a package, who
// makes it, and what it is for.

export interface Package { name: string; vendor: string; use: string }

type Rule = [pattern: RegExp, name: string, vendor: string, use: string];

/** `lib` and a name, with any version: `libfoo.so.1.2`, `libfoo-4f3a.so`. */
const lib = (names: string): RegExp => new RegExp(`/lib(${names})([-_.][^/]*)?\\.so[^/]*$`, "i");
/** A program of such a name. */
const bin = (names: string): RegExp => new RegExp(`/(${names})$`, "i");

const RULES: Rule[] = [
  [/^\[kernel\]$/, "Linux kernel", "Linux", "operating system"],
  [/^\[vdso\]$/, "Linux kernel", "Linux", "operating system"],
  // Mathematics.
  [lib("mkl\\w*"), "MKL", "Intel", "mathematics"],
  [lib("openblas\\w*|openblasp"), "OpenBLAS", "OpenBLAS project", "mathematics"],
  [lib("blis\\w*|flame|amdlibm|aocl\\w*|alm"), "AOCL", "AMD", "mathematics"],
  [lib("armpl\\w*|amath\\w*"), "Arm Performance Libraries", "Arm", "mathematics"],
  [lib("sci_\\w+"), "Cray LibSci", "HPE", "mathematics"],
  [lib("nvpl\\w*"), "NVPL", "NVIDIA", "mathematics"],
  [lib("fftw3\\w*"), "FFTW", "MIT", "mathematics"],
  [lib("scalapack\\w*|lapack\\w*|blas|cblas|elpa\\w*|dplasma|magma\\w*|slate\\w*"), "LAPACK and relatives", "Netlib and others", "mathematics"],
  [lib("petsc\\w*|slepc\\w*"), "PETSc", "Argonne", "mathematics"],
  [lib("trilinos\\w*|kokkos\\w*|tpetra\\w*|epetra\\w*|belos\\w*"), "Trilinos and Kokkos", "Sandia", "mathematics"],
  [lib("hypre\\w*|sundials\\w*|superlu\\w*|mumps\\w*|[dszc]mumps\\w*"), "sparse solvers", "several", "mathematics"],
  [lib("m|mvec"), "GNU libm", "GNU", "mathematics"],
  [lib("svml|imf|intlc|irng"), "Intel compiler runtime", "Intel", "compiler runtime"],
  // Graphics processors.
  [lib("cuda\\w*|cublas\\w*|cudnn\\w*|cufft\\w*|cusolver\\w*|cusparse\\w*|curand\\w*|nccl\\w*|nvidia-\\w+|nvrtc\\w*"), "CUDA", "NVIDIA", "graphics processors"],
  [lib("amdhip\\w*|hsa-runtime\\w*|roc\\w+|hipblas\\w*|rccl\\w*|miopen\\w*"), "ROCm", "AMD", "graphics processors"],
  [lib("sycl\\w*|ze_\\w+|opencl\\w*|level_zero\\w*"), "oneAPI and OpenCL", "Intel and Khronos", "graphics processors"],
  // Messages.
  // Versions of the library's interface tell Open MPI (20, 40) from MPICH and its relatives (12), whatever folder they lie in.
  [/\/libmpi(_\w+)?\.so\.[24]0[^/]*$|\/open-?mpi[^]*\/libmpi[^/]*$/i, "Open MPI", "Open MPI project", "messages"],
  [/\/(intel|impi|oneapi)[^]*\/libmpi[^/]*\.so/i, "Intel MPI", "Intel", "messages"],
  [/\/libmpi_(cray|gnu|intel|nvidia|amd)[^/]*\.so|\/cray[^]*\/libmpi/i, "Cray MPICH", "HPE", "messages"],
  [/\/libmpi(fort|cxx)?\.so\.12[^/]*$/, "MPICH", "Argonne", "messages"],
  [lib("mpich\\w*|mpicxx|mpifort"), "MPICH", "Argonne", "messages"],
  [lib("mpi|mpi_\\w+|open-pal|open-rte|ompi\\w*|mca_\\w+|pmix"), "Open MPI", "Open MPI project", "messages"],
  [/\/openmpi[^/]*\/.*mca_[^/]*\.so/i, "Open MPI", "Open MPI project", "messages"],
  [lib("uc[pstm]|uct_\\w+|ucm_\\w+|hcoll\\w*|sharp\\w*|ucc\\w*"), "UCX", "OpenUCX", "messages"],
  [lib("fabric|psm\\w*|ibverbs|mlx\\d|rdmacm|efa|cxi|lnx"), "fabrics", "OpenFabrics", "messages"],
  // Files.
  [lib("hdf5\\w*"), "HDF5", "The HDF Group", "files"],
  [lib("netcdf\\w*|pnetcdf\\w*"), "NetCDF", "Unidata", "files"],
  [lib("adios\\w*"), "ADIOS", "Oak Ridge", "files"],
  [lib("z|zstd|lz4|lzma|bz2|blosc\\w*|snappy"), "compression", "several", "files"],
  // Languages.
  [/\/(site|dist)-packages\/(numpy|scipy)[^/]*\//i, "NumPy and SciPy", "NumFOCUS", "languages"],
  [/\/(site|dist)-packages\/(torch|nvidia|triton)[^/]*\/|\/libtorch\w*\.so/i, "PyTorch", "PyTorch Foundation", "machine learning"],
  [/\/(site|dist)-packages\/(tensorflow|jax|jaxlib)[^/]*\//i, "TensorFlow and JAX", "Google", "machine learning"],
  [/\/(site|dist)-packages\//i, "Python packages", "several", "languages"],
  [/\/(i?python|pypy)[\d.]*$|\/libpython[^/]*\.so|\/lib\/python[^]*\/lib-dynload\//i, "Python", "Python Foundation", "languages"],
  [/\/(java|node|ruby|perl|lua\w*|php)[\d.]*$|\/lib(jvm|node|ruby|perl|lua|v8)[^/]*\.so/i, "Java, JavaScript, Perl and others", "several", "languages"],
  [/\/(julia)$|\/libjulia[^/]*\.so/i, "Julia", "Julia project", "languages"],
  [/\/(R|Rscript)$|\/libR(blas|lapack)?\.so|\/R\/(library|lib)\//, "R", "R Foundation", "languages"],
  [/\/matlab[^/]*\//i, "MATLAB", "MathWorks", "languages"],
  [lib("gomp|gfortran|quadmath|gcc_s|stdc\\+\\+|atomic|itm|asan|tsan"), "GNU compiler runtime", "GNU", "compiler runtime"],
  [lib("iomp5|omp|ompt\\w*|omptarget\\w*|c\\+\\+\\w*|flang\\w*"), "LLVM compiler runtime", "LLVM", "compiler runtime"],
  [lib("nvc|nvf|nvomp|acc\\w+|pgm\\w*"), "NVIDIA compiler runtime", "NVIDIA", "compiler runtime"],
  [lib("craymath|crayacc\\w*|f|fi|u|modules"), "Cray compiler runtime", "HPE", "compiler runtime"],
  [/\/(cc1(plus)?|f951|lto1|gcc|g\+\+|gfortran|cpp|clang[^/]*|clang\+\+|rustc|nvcc|cicc|ptxas|ld([.\w]*)?|as|ar|collect2|make|gmake|ninja|cmake|cargo|go|javac)(-[\d.]+)?$|\/lib(rustc_driver|LLVM|clang)[^/]*\.so/, "compilers and builds", "several", "building software"],
  [lib("c|pthread|dl|rt|resolv|nsl|util|anl"), "GNU C library", "GNU", "operating system"],
  [/\/(ld-linux[^/]*|ld-[\d.]+\.so|ld-musl[^/]*)$|\/libc\.musl[^/]*$/, "GNU C library", "GNU", "operating system"],
  [lib("tcmalloc\\w*|jemalloc\\w*|mimalloc\\w*|tbbmalloc\\w*"), "allocators", "several", "compiler runtime"],
  [lib("tbb\\w*"), "oneTBB", "UXL Foundation", "compiler runtime"],
  // Codes that many sites run.
  [bin("lmp(_\\w+)?"), "LAMMPS", "Sandia", "codes"],
  [/\/(gmx(_\w+)?|mdrun\w*)$|\/libgromacs[^/]*\.so/i, "GROMACS", "GROMACS project", "codes"],
  [bin("namd\\d?"), "NAMD", "University of Illinois", "codes"],
  [bin("vasp(_\\w+)?"), "VASP", "VASP Software", "codes"],
  [bin("cp2k(\\.\\w+)?"), "CP2K", "CP2K project", "codes"],
  [bin("(pw|ph|cp|neb)\\.x"), "Quantum ESPRESSO", "Quantum ESPRESSO Foundation", "codes"],
  [bin("nwchem|orca\\w*|g(09|16)|siesta|abinit|octopus"), "quantum chemistry", "several", "codes"],
  [/\/(\w+Foam)$|\/lib(OpenFOAM|finiteVolume|lduSolvers)\.so/, "OpenFOAM", "OpenFOAM Foundation", "codes"],
  [bin("wrf|icon|cesm\\.exe|ifsMASTER\\S*"), "weather and climate", "several", "codes"],
  [/\/(ansys|fluent|starccm|abaqus|comsol)[^/]*\//i, "commercial engineering", "several", "codes"],
  // Benchmarks and tools.
  [bin("xhpl|hpcg|stream\\w*|ior|mdtest|osu_\\w+|IMB-\\w+"), "benchmarks", "several", "tools"],
  [/\/(talea|talea-agent)$/, "Talea", "Talea", "tools"],
  [/\/(slurm(d|stepd|ctld)|srun|pbs_mom|dockerd|containerd|systemd[^/]*|sshd|bash|sh|dash|zsh|awk|gawk|mawk|sed|grep|tar|gzip|rsync|find|perf|top|htop)$/, "system services and shells", "several", "operating system"],
  // Files of no known package, by their place.
  [/^\/(home|users?|people)\//i, "own builds in home folders", "users", "own builds"],
  [/^\/(scratch|work|project|projects|lustre|gpfs|beegfs|tmp|var\/tmp|dev\/shm)\//i, "own builds elsewhere", "users", "own builds"],
  [/^\/(opt|sw|software|apps|cvmfs)\//i, "installed software, unclassified", "site", "other"],
  [/^\/(usr|lib|lib64|bin|sbin)\//, "operating system, unclassified", "distribution", "operating system"],
];

const OTHER: Package = { name: "unclassified", vendor: "unknown", use: "other" };
const known = new Map<string, Package>();

/** The package of a path; what was replaced while it ran says ` (deleted)` behind it. */
export function packageOf(path: string): Package {
  let found = known.get(path);
  if (!found) {
    const text = path.slice(0, 4096).replace(/ \(deleted\)$/, "");
    const rule = RULES.find(([pattern]) => pattern.test(text));
    found = rule ? { name: rule[1], vendor: rule[2], use: rule[3] } : OTHER;
    if (known.size > 20_000) known.clear();
    known.set(path, found);
  }
  return found;
}
