/* Nothing: this header of CUDA's is for its own compilers. It is here where the package of CUDA's headers lacks it. */
